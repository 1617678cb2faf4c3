import { useEffect, useState } from "react";

import { usePlane } from "./Slider";
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
  const { place, sliders } = usePlane(output, "the table");
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const where = place.join(",");
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
      .values(done.run, port, place, form)
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
      {sliders}
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
