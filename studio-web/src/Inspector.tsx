import { useEffect, useState } from "react";

import { Fault } from "./BlockNode";
import { FieldInput } from "./FieldInput";
import { FlowView } from "./FlowView";
import { problemsOf, useStudio } from "./studio";
import type { Block } from "./types";
import { ValuesTable } from "./ValuesTable";
import { outlineText, summary } from "./words";

type Tab = "Attributes" | "Values" | "Flow" | "Python" | "Reference";

/** All about the selected block. */
export function Inspector({ block, python }: { block: Block | undefined; python: () => Promise<string> }) {
  const { kinds, done, stale } = useStudio();
  const [asked, setTab] = useState<Tab>("Attributes");
  if (!block) return <aside className="inspector" data-tab="none"><p className="hint">Select a block to see and change all of it.</p></aside>;
  const kind = kinds.get(block.op);
  const port = kind?.outputs.map((name) => `${block.id}.${name}`).find((name) => done?.ports[name]);
  const hasFlow = kind?.group === "Gradients" && port !== undefined;
  const tabs: Tab[] = ["Attributes", ...(port ? (["Values"] as const) : []), ...(hasFlow ? (["Flow"] as const) : []), "Python", "Reference"];
  const tab = tabs.includes(asked) ? asked : "Attributes";
  return (
    <aside className="inspector" data-tab={tab} aria-label={`block ${block.id}`}>
      <h2>
        {block.op} <span>{block.id}</span>
      </h2>
      <div className="tabs" role="tablist">
        {tabs.map((name) => (
          <button key={name} role="tab" aria-selected={name === tab} onClick={() => setTab(name)}>
            {name}
          </button>
        ))}
      </div>
      {tab === "Attributes" ? <Attributes block={block} /> : null}
      {tab === "Values" && done ? <ValuesTable ports={kind!.outputs.map((name) => `${block.id}.${name}`)} done={done} stale={stale} /> : null}
      {tab === "Flow" && done ? <FlowView block={block.id} run={done.run} stale={stale} /> : null}
      {tab === "Python" ? <Program block={block} python={python} /> : null}
      {tab === "Reference" ? <pre>{kind?.reference}</pre> : null}
    </aside>
  );
}

/** The page as a program, the lines of the selected block marked. */
function Program({ block, python }: { block: Block; python: () => Promise<string> }) {
  const [text, setText] = useState("");
  useEffect(() => {
    let live = true;
    python().then((found) => live && setText(found), (error: Error) => live && setText(error.message));
    return () => {
      live = false;
    };
  }, [python]);
  const isOwn = (line: string) => new RegExp(`^${block.id}\\b`).test(line);
  return (
    <>
      <button onClick={() => void navigator.clipboard.writeText(text)}>Copy</button>
      <pre className="program">
        {text.split("\n").map((line, number) => (
          <span key={number} className={isOwn(line) ? "own" : ""}>
            {line + "\n"}
          </span>
        ))}
      </pre>
    </>
  );
}

/** Pins can be wired here too, without a mouse. */
function Attributes({ block }: { block: Block }) {
  const studio = useStudio();
  const { kinds, page, checked, done, stale, dispatch } = studio;
  const kind = kinds.get(block.op);
  const faults = problemsOf(studio).filter((problem) => problem.block === block.id);
  const sources = page.blocks.filter((one) => one.id !== block.id).flatMap((one) => (kinds.get(one.op)?.outputs ?? []).map((name) => `${one.id}.${name}`));
  return (
    <>
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
    </>
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
