import { useEffect, useRef, useState } from "react";

import { Fault } from "./BlockNode";
import { FieldInput } from "./FieldInput";
import { problemsOf, useStudio } from "./studio";
import type { Block, Kind, Start } from "./types";
import { outlineText, summary } from "./words";

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

/** All about the selected block; pins can be wired here too, without a mouse. */
export function Inspector({ block }: { block: Block | undefined }) {
  const studio = useStudio();
  const { kinds, page, checked, done, stale, dispatch } = studio;
  if (!block) return <aside className="inspector"><p className="hint">Select a block to see and change all of it.</p></aside>;
  const kind = kinds.get(block.op);
  const faults = problemsOf(studio).filter((problem) => problem.block === block.id);
  const sources = page.blocks.filter((one) => one.id !== block.id).flatMap((one) => (kinds.get(one.op)?.outputs ?? []).map((name) => `${one.id}.${name}`));
  return (
    <aside className="inspector" aria-label={`block ${block.id}`}>
      <h2>{block.op}</h2>
      <p>{kind?.summary}</p>
      <Rename block={block} />
      {faults.map((problem, number) => (
        <Fault key={number} problem={problem} />
      ))}
      {kind?.pins.map((pin) => {
        const target = `${block.id}.${pin.name}`;
        const wire = page.wires?.find(([, end]) => end === target);
        const rewire = (source: string) =>
          source ? dispatch({ type: "connect", wire: [source, target] }) : wire && dispatch({ type: "remove", ids: [], wires: [wire] });
        return (
          <label key={pin.name} title={pin.text}>
            <span>{pin.name}</span>
            <select value={wire?.[0] ?? ""} aria-label={`source of ${pin.name}`} onChange={(event) => rewire(event.target.value)}>
              <option value="">{pin.typed ? "typed" : "not wired"}</option>
              {sources.map((source) => (
                <option key={source}>{source}</option>
              ))}
            </select>
            {pin.typed && !wire ? <FieldInput block={block} field={pin.typed} isBad={false} /> : null}
          </label>
        );
      })}
      {kind?.fields.map((field) => (
        <label key={field.name}>
          <span>{field.name}</span>
          <FieldInput block={block} field={field} isBad={false} />
          <small>{field.text}</small>
        </label>
      ))}
      {kind?.outputs.map((name) => {
        const port = `${block.id}.${name}`;
        const outline = checked?.ports[port];
        const output = done?.ports[port];
        return (
          <p key={name}>
            <b>{name}</b> <code>{outline ? outlineText(outline) : ""}</code>
            <br />
            <span className={stale ? "stale" : ""}>{output ? summary(output) : ""}</span>
          </p>
        );
      })}
    </aside>
  );
}

function Rename({ block }: { block: Block }) {
  const { dispatch } = useStudio();
  const [text, setText] = useState(block.id);
  useEffect(() => setText(block.id), [block.id]);
  return (
    <label>
      <span>id</span>
      <input
        value={text}
        aria-label="id"
        onChange={(event) => setText(event.target.value)}
        onBlur={() => (text === block.id ? undefined : (dispatch({ type: "rename", id: block.id, to: text }), setText(block.id)))}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      />
    </label>
  );
}

/** All faults of the page; a click goes to the block. */
export function Messages({ trouble, onShow }: { trouble: string; onShow: (id: string) => void }) {
  const studio = useStudio();
  const problems = problemsOf(studio);
  const { page, done, stale } = studio;
  const state = trouble || (problems.length ? "" : stale ? "changed, not run yet" : done ? `${page.blocks.length} blocks, all fine` : "");
  return (
    <footer className="messages" aria-live="polite">
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
