import { Handle, Position, type Node, type NodeProps, type ReactFlowState, useStore } from "@xyflow/react";
import { memo } from "react";

import { FieldInput } from "./FieldInput";
import { HeatMap } from "./HeatMap";
import { fixOf, problemsOf, useStudio } from "./studio";
import type { Block, Problem } from "./types";
import { outlineText, summary } from "./words";

export type BlockNodeType = Node<{ block: Block }, "block">;

/** Does a block lie so far outside of the canvas that nothing of it has to be drawn? */
export function isAway({ nodeLookup, transform: [left, top, zoom], width, height }: Pick<ReactFlowState, "nodeLookup" | "transform" | "width" | "height">, id: string): boolean {
  const node = nodeLookup.get(id);
  if (!node?.measured.width || !node.measured.height) return false;
  const { x, y } = node.internals.positionAbsolute;
  const [from, to] = [x * zoom + left, (x + node.measured.width) * zoom + left];
  const [above, below] = [y * zoom + top, (y + node.measured.height) * zoom + top];
  return to < -width / 2 || from > 1.5 * width || below < -height / 2 || above > 1.5 * height;
}

/** A block on the canvas: pins left, attributes, outputs right, what it gives, and what is wrong with it. */
export const BlockNode = memo(function BlockNode({ id, data, selected }: NodeProps<BlockNodeType>) {
  const studio = useStudio();
  const { block } = data;
  const kind = studio.kinds.get(block.op);
  const faults = problemsOf(studio).filter((problem) => problem.block === block.id);
  const places = new Set(faults.map((problem) => problem.place));
  const waits = faults.length > 0 && faults.every((problem) => problem.code === "PG401");
  const away = useStore((store) => isAway(store, id));
  const classes = ["block", away && "away", selected && "selected", faults.length && (waits ? "waits" : "failed")].filter(Boolean).join(" ");
  return (
    <div className={classes} data-op={block.op}>
      <header>
        <strong>{block.op}</strong>
        <span>{block.id}</span>
      </header>
      {kind?.pins.map((pin) => (
        <PinRow key={pin.name} block={block} name={pin.name} isBad={places.has(pin.name)} />
      ))}
      <div className="fields nodrag">
        {kind?.fields.map((field) => (
          <label key={field.name} className={field.kind}>
            <span>{field.name}</span>
            <FieldInput block={block} field={field} isBad={places.has(field.name)} />
          </label>
        ))}
      </div>
      {kind?.outputs.map((name) => (
        <OutputRow key={name} port={`${block.id}.${name}`} name={name} />
      ))}
      {faults.map((problem, number) => (
        <Fault key={number} problem={problem} />
      ))}
      {block.op === "Result" ? <Shown target={`${block.id}.input`} /> : null}
    </div>
  );
});

function PinRow({ block, name, isBad }: { block: Block; name: string; isBad: boolean }) {
  const { kinds, page, misfits } = useStudio();
  const port = `${block.id}.${name}`;
  const pin = kinds.get(block.op)?.pins.find((one) => one.name === name);
  const isWired = page.wires?.some(([, target]) => target === port);
  const misfit = misfits[port];
  const needs = misfit && (misfit.expected ? `needs ${Array.isArray(misfit.expected) ? `[${misfit.expected.join(",")}]` : misfit.expected}` : misfit.message);
  return (
    <div className={`pin${isBad ? " bad" : ""}${misfit ? " misfit" : ""}`}>
      <Handle type="target" id={name} position={Position.Left} title={pin?.text} />
      <span>{name}</span>
      {needs ? <em>{needs}</em> : null}
      {pin?.typed && !isWired && !needs ? (
        <span className="nodrag typed">
          <FieldInput block={block} field={pin.typed} isBad={isBad} />
        </span>
      ) : null}
    </div>
  );
}

function OutputRow({ port, name }: { port: string; name: string }) {
  const { checked } = useStudio();
  const outline = checked?.ports[port];
  return (
    <>
      <div className="output">
        <code>{outline ? outlineText(outline) : ""}</code>
        <span>{name}</span>
        <Handle type="source" id={name} position={Position.Right} />
      </div>
      {name === "output" ? <Values port={port} /> : null}
    </>
  );
}

/** The numbers of an output; dimmed while they are older than the page. */
function Values({ port }: { port: string }) {
  const { done, stale } = useStudio();
  const output = done?.ports[port];
  if (!done || !output) return null;
  return (
    <div className={`values${stale ? " stale" : ""}`}>
      <div className="numbers">{summary(output)}</div>
      <HeatMap port={port} output={output} run={done.run} />
    </div>
  );
}

function Shown({ target }: { target: string }) {
  const { page } = useStudio();
  const wire = page.wires?.find(([, end]) => end === target);
  return wire ? <Values port={wire[0]} /> : null;
}

export function Fault({ problem }: { problem: Problem }) {
  const { page, kinds, dispatch } = useStudio();
  const fix = fixOf(problem, page, kinds);
  if (problem.code === "PG401") return <p className="waiting">{problem.message}</p>;
  return (
    <p className="fault" role="alert">
      <b>
        {problem.code} {problem.name}
      </b>{" "}
      {problem.message}
      {fix ? (
        <button className="nodrag" onClick={() => dispatch(fix.action)}>
          {fix.label}
        </button>
      ) : null}
    </p>
  );
}
