import { useEffect, useRef, useState } from "react";

import { problemsOf, useStudio } from "./studio";
import type { Kind, Start } from "./types";

/** Every kind of block, by group, found by name or by what it does. */
export function Palette({ onAdd }: { onAdd: (kind: Kind) => void }) {
  const { kinds } = useStudio();
  const [query, setQuery] = useState("");
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...kinds.values()].filter((kind) => words.every((word) => `${kind.op} ${kind.summary}`.toLowerCase().includes(word)));
  const groups = [...new Set(found.map((kind) => kind.group))];
  return (
    <nav className="palette" aria-label="blocks">
      <input type="search" id="search" placeholder="Find a block ( / )" aria-label="find a block" value={query} onChange={(e) => setQuery(e.target.value)} />
      {groups.map((group) => (
        <section key={group}>
          <h2>{group}</h2>
          {found
            .filter((kind) => kind.group === group)
            .map((kind) => (
              <button
                key={kind.op}
                title={kind.summary}
                draggable
                onDragStart={(event) => event.dataTransfer.setData("text/plain", kind.op)}
                onClick={() => onAdd(kind)}
              >
                {kind.op}
              </button>
            ))}
        </section>
      ))}
      {found.length === 0 ? <p>No block is called that.</p> : null}
    </nav>
  );
}

/** All faults of the page; a click goes to the block. */
export function Messages({ trouble, onShow }: { trouble: string; onShow: (id: string) => void }) {
  const studio = useStudio();
  const problems = problemsOf(studio);
  const { page, done, stale, isRunning } = studio;
  const state = trouble || (problems.length ? "" : stale ? "changed, not run yet" : done ? `${page.blocks.length} blocks, all fine` : "");
  return (
    <footer className="messages" aria-live="polite">
      {isRunning ? <span className="running">running…</span> : null}
      {state ? <span className={trouble ? "trouble" : ""}>{state}</span> : null}
      {problems.map((problem, number) => (
        <button key={number} className={problem.code === "PG401" ? "waits" : ""} onClick={() => problem.block && onShow(problem.block)}>
          <b>{problem.code}</b> {[problem.block, problem.place].filter(Boolean).join(".")}: {problem.message}
        </button>
      ))}
    </footer>
  );
}

interface GalleryProps {
  start: Start;
  files: string[];
  onExample: (name: string) => void;
  onFile: (name: string) => void;
  onClose: () => void;
}

/** Pages to begin with, and those of the folder. */
export function Gallery({ start, files, onExample, onFile, onClose }: GalleryProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="gallery" onClose={onClose} aria-label="open a page">
      <h2>Example pages</h2>
      {Object.entries(start.examples).map(([name, title]) => (
        <button key={name} onClick={() => onExample(name)}>
          <b>{name}</b> {title}
        </button>
      ))}
      <h2>Pages in this folder</h2>
      {files.length ? null : <p>none yet</p>}
      {files.map((name) => (
        <button key={name} onClick={() => onFile(name)}>
          {name}
        </button>
      ))}
      <button className="plain" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
