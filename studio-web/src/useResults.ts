import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { Host } from "./host";
import { contentOf } from "./model";
import type { Checked, Document, Done } from "./types";

const PAUSE = 120;
/** Pages with more elements than this run when told to only. */
const MOST_BY_ITSELF = 2 ** 22;

export interface Results {
  checked: Checked | null;
  done: Done | null;
  stale: boolean;
  isRunning: boolean;
  trouble: string;
  runNow: () => void;
}

/** Shapes after every change, and results a moment later; an answer to an older page is never shown as new. */
export function useResults(host: Host, document: Document, page: string, opened: number, isReady: boolean): Results {
  // To move a block changes nothing that is computed.
  const content = useMemo(() => contentOf(document), [document]);
  const whose = `${opened} ${page}`;
  const [checked, setChecked] = useState<{ found: Checked; whose: string } | null>(null);
  const [done, setDone] = useState<{ found: Done; whose: string; content: string } | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [trouble, setTrouble] = useState("");
  const turn = useRef(0);
  const latest = useRef(document);
  useEffect(() => {
    latest.current = document;
  }, [document]);

  const refresh = useCallback(
    async (always: boolean) => {
      const mine = ++turn.current;
      const isNewest = () => mine === turn.current;
      setRunning(false);
      try {
        const found = await host.check(latest.current, page);
        if (!isNewest()) return;
        setChecked({ found, whose });
        setTrouble("");
        const elements = Object.values(found.ports).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
        if (!always && elements > MOST_BY_ITSELF) {
          setTrouble("a large page: press Run");
          return;
        }
        setRunning(true);
        const given = await host.run(latest.current, page);
        if (isNewest()) setDone({ found: given, whose, content });
      } catch (error) {
        if (isNewest()) setTrouble(error instanceof Error ? error.message : String(error));
      } finally {
        if (isNewest()) setRunning(false);
      }
    },
    [host, content, page, whose],
  );

  useEffect(() => {
    if (!isReady) return;
    const timer = setTimeout(() => void refresh(false), PAUSE);
    return () => clearTimeout(timer);
  }, [refresh, isReady]);

  const runNow = useCallback(() => void refresh(true), [refresh]);
  return useMemo(
    () => ({
      // Blocks of another page may have the same names: what they gave is not shown here, not even as old.
      checked: checked?.whose === whose ? checked.found : null,
      done: done?.whose === whose ? done.found : null,
      stale: done?.whose === whose && done.content !== content,
      isRunning,
      trouble,
      runNow,
    }),
    [checked, done, whose, content, isRunning, trouble, runNow],
  );
}
