import { useEffect, useMemo, useState } from "react";

import type { Host } from "./host";
import { nth } from "./flow";
import type { FlowCell, FlowWindow, Image, Place, Volume } from "./types";

const PACE = 700;

export interface Pointed {
  kind: "window" | "cell";
  place: Place;
}

/** What a request gives, kept until the next one is answered. */
function useAnswer<T>(ask: (() => Promise<T>) | null, key: string): T | null {
  const [found, setFound] = useState<{ key: string; answer: T } | null>(null);
  useEffect(() => {
    if (!ask) {
      setFound(null);
      return;
    }
    let live = true;
    ask().then((answer) => live && setFound({ key, answer }), () => undefined);
    return () => {
      live = false;
    };
    // The key says all that the request depends on.
  }, [key, ask === null]);
  return found?.answer ?? null;
}

export interface Seen {
  grad: Volume | null;
  dx: Volume | null;
  /** The result of the windows so far, while they pass one by one. */
  partial: Volume | null;
  cover: Volume | null;
  hits: Volume | null;
  winners: Volume | null;
  window: FlowWindow | null;
  cell: FlowCell | null;
}

/** All that is drawn of one image; with a step, the result of the windows up to it. */
export function useSeen(host: Host, image: Image, isRouted: boolean, pointed: Pointed | null, step: number | null): Seen {
  const key = `${image.run} ${image.block} ${image.batch} ${image.channel}`;
  const asked = pointed && `${key} ${pointed.kind} ${pointed.place.join(" ")}`;
  const grad = useAnswer(() => host.flowVolume(image, "grad", null), key);
  const dx = useAnswer(() => host.flowVolume(image, "dx", null), key);
  const partial = useAnswer(step === null ? null : () => host.flowVolume(image, "dx", step + 1), `${key} ${step}`);
  const cover = useAnswer(() => host.flowVolume(image, "cover", null), key);
  const hits = useAnswer(isRouted ? () => host.flowVolume(image, "hits", null) : null, key);
  const winners = useAnswer(isRouted ? () => host.flowVolume(image, "winners", null) : null, key);
  const window = useAnswer(pointed?.kind === "window" ? () => host.flowWindow(image, pointed.place) : null, asked ?? "");
  const cell = useAnswer(pointed?.kind === "cell" ? () => host.flowCell(image, pointed.place) : null, asked ?? "");
  return useMemo(
    () => ({ grad, dx, partial, cover, hits, winners, window, cell }),
    [grad, dx, partial, cover, hits, winners, window, cell],
  );
}

interface Steps {
  step: number | null;
  isPlaying: boolean;
  go: (step: number | null) => void;
  play: () => void;
}

/** Windows one by one, by hand or by themselves. */
export function useSteps(total: number, outputs: Place, onStep: (pointed: Pointed | null) => void): Steps {
  const [step, setStep] = useState<number | null>(null);
  const [isPlaying, setPlaying] = useState(false);
  const go = (next: number | null) => {
    const inside = next === null || total === 0 ? null : Math.max(0, Math.min(total - 1, next));
    setStep(inside);
    onStep(inside === null ? null : { kind: "window", place: nth(inside, outputs) });
  };
  useEffect(() => {
    if (!isPlaying) return;
    if (step !== null && step >= total - 1) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => go(step === null ? 0 : step + 1), step === null ? 0 : PACE);
    return () => clearTimeout(timer);
    // `go` is new with every rendering and does the same.
  }, [isPlaying, step, total]);
  const play = () => {
    if (!isPlaying && step !== null && step >= total - 1) setStep(null);
    setPlaying(!isPlaying);
  };
  return {
    step,
    isPlaying,
    go: (next) => {
      setPlaying(false);
      go(next);
    },
    play,
  };
}
