import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { Host } from "./host";
import type { Checked, Document, Done } from "./types";

const PAUSE = 120;
/** Pages with more elements than this run when told to only. */
const MOST_BY_ITSELF = 2 ** 22;

export interface Results {
  checked: Checked | null;
  done: Done | null;
  stale: boolean;
  trouble: string;
  runNow: () => void;
}

/** Shapes after every change, and results a moment later; an answer to an older page is never shown as new. */
export function useResults(host: Host, document: Document, page: string, opened: number, isReady: boolean): Results {
  const [checked, setChecked] = useState<Checked | null>(null);
  const [last, setLast] = useState<{ done: Done; document: Document; page: string } | null>(null);
  const [trouble, setTrouble] = useState("");
  const turn = useRef(0);
  const whose = `${opened} ${page}`;

  const run = useCallback(
    async (mine: number) => {
      const found = await host.run(document, page);
      if (mine !== turn.current) return;
      setLast({ done: found, document, page: whose });
    },
    [host, document, page, whose],
  );

  const refresh = useCallback(
    async (always: boolean) => {
      const mine = ++turn.current;
      try {
        const found = await host.check(document, page);
        if (mine !== turn.current) return;
        setChecked(found);
        setTrouble("");
        const elements = Object.values(found.ports).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
        if (always || elements <= MOST_BY_ITSELF) await run(mine);
        else setTrouble("a large page: press Run");
      } catch (error) {
        if (mine === turn.current) setTrouble(error instanceof Error ? error.message : String(error));
      }
    },
    [host, document, page, run],
  );

  useEffect(() => {
    if (!isReady) return;
    const timer = setTimeout(() => void refresh(false), PAUSE);
    return () => clearTimeout(timer);
  }, [refresh, isReady]);

  const runNow = useCallback(() => void refresh(true), [refresh]);
  // Blocks of another page may have the same names: what they gave is not shown here, not even as old.
  const done = last?.page === whose ? last.done : null;
  const stale = done !== null && last?.document !== document;
  return useMemo(() => ({ checked, done, stale, trouble, runNow }), [checked, done, stale, trouble, runNow]);
}
