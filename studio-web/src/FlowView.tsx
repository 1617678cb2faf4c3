import { useCallback, useEffect, useMemo, useState } from "react";

import { reach } from "./colour";
import { arranged, middle, type View, valueAt, VIEWS } from "./flow";
import { Cells, Cuts, Lines, Marks, Rings, WindowBox } from "./FlowDrawing";
import { Slider } from "./Slider";
import { useStudio } from "./studio";
import type { FlowOverview, Place, Volume } from "./types";
import { type Pointed, type Seen, useSeen, useSteps } from "./useFlow";

const ROOM = 430;
const HEAD = 16;
const GAP = 22;

function shapeOf(volume: Volume): Place {
  return [volume.depth, volume.height, volume.width];
}

interface FlowProps {
  block: string;
  run: number;
  stale: boolean;
}

/** Where each gradient of a block goes: point at a gradient or at a cell, or let the windows pass one by one. */
export function FlowView(props: FlowProps) {
  const { host } = useStudio();
  const { run, block } = props;
  const [found, setFound] = useState<{ overview: FlowOverview; run: number; block: string } | null>(null);
  useEffect(() => {
    let live = true;
    host.flow(run, block).then((overview) => live && setFound({ overview, run, block }), () => undefined);
    return () => {
      live = false;
    };
  }, [host, run, block]);
  // Until the sizes of a new run are known, the old one is drawn, and asked about.
  return found ? <Flow key={String([found.overview.outputs, found.overview.size])} {...props} {...found} /> : <p className="hint">…</p>;
}

function Flow({ block, run, stale, overview }: FlowProps & { overview: FlowOverview }) {
  const { host } = useStudio();
  const [batch, setBatch] = useState(0);
  const [channel, setChannel] = useState(0);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [view, setView] = useState<View>("slices");
  const [depth, setDepth] = useState(0);
  const [showsCover, setShowsCover] = useState(false);
  const total = overview.outputs.reduce((a, b) => a * b, 1);
  const isRouted = overview.family === "route";
  const steps = useSteps(total, overview.outputs, setPointed);
  const seen = useSeen(host, { run, block, batch, channel }, isRouted, pointed, steps.step);
  const shown = showsCover ? seen.cover : (seen.partial ?? seen.dx);
  if (!seen.grad || !shown || !seen.dx) return <p className="hint">…</p>;

  const isCut = overview.size.some((size, axis) => size > shapeOf(shown)[axis]!);
  const window = pointed?.kind === "window" ? seen.window : null;
  const cell = pointed?.kind === "cell" ? seen.cell : null;
  const place = pointed?.place;
  const name = place && `${overview.size[0] > 1 ? `depth ${place[0]}, ` : ""}row ${place[1]}, column ${place[2]}`;
  return (
    <section className={`flow${stale ? " stale" : ""}`} aria-label="where each gradient goes">
      <div className="controls">
        <button onClick={() => steps.go((steps.step ?? 0) - 1)} disabled={!steps.step} aria-label="step back">
          ◀
        </button>
        <button onClick={() => steps.go(steps.step === null ? 0 : steps.step + 1)} disabled={steps.step !== null && steps.step >= total - 1}>
          Step
        </button>
        <button onClick={steps.play}>{steps.isPlaying ? "Pause" : "Play"}</button>
        <button onClick={() => steps.go(null)} disabled={steps.step === null}>
          All
        </button>
        <label>
          <input type="checkbox" checked={showsCover} onChange={() => setShowsCover(!showsCover)} /> cover map
        </label>
        {overview.size[0] > 1 ? (
          <select value={view} aria-label="view" onChange={(event) => setView(event.target.value as View)}>
            {VIEWS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        ) : null}
      </div>
      {steps.step === null ? null : (
        <Slider name="window" whose="the flow" value={steps.step} size={total} words={`window ${steps.step + 1} of ${total}`} onChange={steps.go} />
      )}
      <Slider name="batch" whose="the flow" value={batch} size={overview.batch} onChange={setBatch} />
      <Slider name="channel" whose="the flow" value={channel} size={overview.channel} onChange={setChannel} />
      {view === "one slice" ? <Slider name="depth" whose="the flow" value={depth} size={shown.depth} onChange={setDepth} /> : null}
      <p className={`told${window?.lost ? " lost" : ""}`} aria-live="polite">
        {place && (window || cell) ? (
          <>
            <b>
              {pointed.kind === "window" ? "grad" : "dx"} at {name}
            </b>
            <br />
            {(window ?? cell)!.words}
          </>
        ) : (
          "Point at a cell of grad to see its window, at a cell of dx to see who feeds it."
        )}
      </p>
      <Drawing
        overview={overview}
        seen={seen}
        shown={shown}
        pointed={pointed}
        view={view}
        depth={depth}
        isCount={showsCover}
        head={showsCover ? "windows that hold each cell of dx" : steps.step === null ? "dx" : `dx after ${steps.step + 1} of ${total} windows`}
        onPoint={setPointed}
      />
      <p className="hint">
        {overview.words}
        {isRouted ? "; a dot marks each cell that wins, a cross each gradient that is lost" : ""}
        {isCut ? "; only the first cells are drawn" : ""}
      </p>
    </section>
  );
}

interface DrawingProps {
  overview: FlowOverview;
  seen: Seen;
  shown: Volume;
  pointed: Pointed | null;
  view: View;
  depth: number;
  isCount: boolean;
  head: string;
  onPoint: (pointed: Pointed) => void;
}

type Middle = ReturnType<typeof middle>;

/** Gradients above, the result below, and what joins them. Cells are drawn anew only when their numbers change. */
function Drawing({ overview, seen, shown, pointed, view, depth, isCount, head, onPoint }: DrawingProps) {
  const { cover, hits, winners } = seen;
  const [grad, dx] = [seen.grad!, seen.dx!];
  const above = useMemo(() => arranged(shapeOf(grad), "slices", 0, ROOM, HEAD, 0.25), [grad]);
  const low = HEAD + above.height + GAP;
  const size = String(shapeOf(shown));
  const below = useMemo(() => arranged(size.split(",").map(Number) as Place, view, depth, ROOM, low, 1), [size, view, depth, low]);
  const bare = useCallback((place: Place) => cover !== null && valueAt(cover, place) === 0, [cover]);
  const never = useCallback(() => false, []);
  const pointGrad = useCallback((place: Place) => onPoint({ kind: "window", place }), [onPoint]);
  const pointCell = useCallback((place: Place) => onPoint({ kind: "cell", place }), [onPoint]);
  const window = pointed?.kind === "window" ? seen.window : null;
  const targets = pointed?.kind === "cell" ? [pointed.place] : (window?.targets ?? []);
  const sources = pointed?.kind === "window" ? [pointed.place] : pointed ? (seen.cell?.sources ?? []) : [];
  const isRouted = overview.family === "route";
  const pairs = isRouted ? sources.flatMap((from) => targets.map((to): [Middle, Middle] => [middle(above, from), middle(below, to)])) : [];
  const whole = isCount ? shown : dx;
  const largest = useMemo(() => reach(whole.values), [whole]);
  return (
    <svg width={Math.max(above.width, below.width) + 4} height={low + below.height + 8} role="img" aria-label="gradients and where they go">
      <defs>
        <pattern id="bare" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <line x1="0" x2="0" y1="0" y2="6" />
        </pattern>
        <pattern id="padding" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
          <line x1="0" x2="0" y1="0" y2="5" />
        </pattern>
      </defs>
      <text className="head" x={0} y={HEAD - 5}>
        grad
      </text>
      <text className="head" x={0} y={low - 8}>
        {head}
      </text>
      <Cells name="grad" volume={grad} largest={reach(grad.values)} drawn={above} view="slices" isCount={false} isBare={never} onPoint={pointGrad} />
      <Cells name="dx" volume={shown} largest={largest} drawn={below} view={view} isCount={isCount} isBare={bare} onPoint={pointCell} />
      {overview.cuts.some((cuts) => cuts.length) ? <Cuts drawn={below} size={shapeOf(shown)} cuts={overview.cuts} /> : null}
      {winners ? <Marks drawn={above} volume={winners} mark="cross" /> : null}
      {hits ? <Marks drawn={below} volume={hits} mark="dot" /> : null}
      {window?.inside && window.whole ? <WindowBox drawn={below} view={view} size={shapeOf(shown)} inside={window.inside} whole={window.whole} /> : null}
      <Lines pairs={pairs} />
      <Rings drawn={above} places={sources} className="ring" />
      <Rings drawn={below} places={targets} className="ring" />
    </svg>
  );
}
