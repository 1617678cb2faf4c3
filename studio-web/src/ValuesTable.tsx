import { useEffect, useState } from "react";

import { useStudio } from "./studio";
import type { Done } from "./types";
import { outlineText } from "./words";

/** One plane of an output in full, and ways to copy it. */
export function ValuesTable({ ports, done, stale }: { ports: string[]; done: Done; stale: boolean }) {
  const { host } = useStudio();
  const known = ports.filter((name) => done.ports[name]);
  const [asked, setPort] = useState(known[0]!);
  const port = known.includes(asked) ? asked : known[0]!;
  const output = done.ports[port]!;
  const [place, setPlace] = useState<number[]>([]);
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const inside = output.axes.map(([, size], axis) => Math.max(0, Math.min(place[axis] ?? 0, size - 1)));
  const where = inside.join(",");
  useEffect(() => {
    let live = true;
    setSaid("");
    host.values(done.run, port, where ? where.split(",").map(Number) : [], "csv").then((found) => live && setText(found), () => live && setText(""));
    return () => {
      live = false;
    };
  }, [host, done.run, port, where]);
  const copy = (form: "csv" | "numpy") =>
    host
      .values(done.run, port, inside, form)
      .then((found) => navigator.clipboard.writeText(found))
      .then(() => setSaid("copied"), (error: Error) => setSaid(error.message));
  const rows = text.trim() ? text.trim().split("\n").map((line) => line.split(",")) : [];
  return (
    <section className={`table${stale ? " stale" : ""}`}>
      {known.length > 1 ? (
        <select value={port} aria-label="output" onChange={(event) => setPort(event.target.value)}>
          {known.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      ) : null}
      <code>{outlineText(output)}</code>
      {output.axes.map(([name, size], axis) =>
        size > 1 ? (
          <label key={name}>
            <span>
              {name} {inside[axis]}
            </span>
            <input
              type="range"
              min={0}
              max={size - 1}
              value={inside[axis]}
              aria-label={`${name} of the table`}
              onChange={(event) => setPlace(inside.map((n, k) => (k === axis ? Number(event.target.value) : n)))}
            />
          </label>
        ) : null,
      )}
      <div className="controls">
        <button onClick={() => void copy("csv")}>Copy CSV</button>
        <button onClick={() => void copy("numpy")}>Copy NumPy</button>
        <span aria-live="polite">{said}</span>
      </div>
      <div className="rows">
        <table>
          <thead>
            <tr>
              <th />
              {rows[0]?.map((_, column) => <th key={column}>{column}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, number) => (
              <tr key={number}>
                <th>{number}</th>
                {row.map((value, column) => (
                  <td key={column}>{value}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
