import { useEffect, useMemo, useRef, useState } from "react";

import { colour, reach } from "./colour";
import { usePlane } from "./Slider";
import { useStudio } from "./studio";
import type { Output, Plane } from "./types";
import { cellNumber, numbersOf } from "./words";

const MOST_WIDTH = 236;
const LARGEST_CELL = 34;
const CELL_FOR_NUMBERS = 26;

/** One plane of a result, with a slider for each axis along which there are more. */
export function HeatMap({ port, output, run }: { port: string; output: Output; run: number }) {
  const { host } = useStudio();
  const { place, sliders } = usePlane(output, port);
  const [plane, setPlane] = useState<Plane | null>(null);
  const asked = place.join(",");
  const isEmpty = output.shape.includes(0);
  const isFirst = place.every((n) => n === 0);
  const first = useMemo(() => output.first && { ...output.first, values: numbersOf(output.first.values) }, [output.first]);
  const isKnown = isFirst && first !== undefined;
  useEffect(() => {
    if (isEmpty || isKnown) return;
    let live = true;
    const numbers = asked === "" ? [] : asked.split(",").map(Number);
    host.slice(run, port, numbers).then((found) => live && setPlane(found), () => undefined);
    return () => {
      live = false;
    };
  }, [host, run, port, asked, isEmpty, isKnown]);
  if (isEmpty) return null;
  const shown = isKnown ? first : plane;
  return (
    <div className="map nodrag">
      {sliders}
      {shown ? <Picture plane={shown} label={port} /> : null}
    </div>
  );
}

function Picture({ plane, label }: { plane: Plane; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [words, setWords] = useState("");
  const cell = Math.max(1, Math.min(LARGEST_CELL, Math.floor(MOST_WIDTH / Math.max(1, plane.width))));
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context) paint(context, plane, cell);
  }, [plane, cell]);
  function point(event: React.MouseEvent<HTMLCanvasElement>) {
    const box = event.currentTarget.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * plane.height);
    const column = Math.floor(((event.clientX - box.left) / box.width) * plane.width);
    const value = plane.values[row * plane.width + column];
    setWords(value === undefined ? "" : `row ${row}, column ${column}: ${value}`);
  }
  return (
    <>
      <canvas
        ref={canvas}
        width={plane.width * cell}
        height={plane.height * cell}
        role="img"
        aria-label={`values of ${label}`}
        onMouseMove={point}
        onMouseLeave={() => setWords("")}
      />
      <div className="pointed">{words}</div>
    </>
  );
}

function paint(context: CanvasRenderingContext2D, plane: Plane, cell: number): void {
  const largest = reach(plane.values);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = "10px system-ui, sans-serif";
  const gap = cell > 4 ? 1 : 0;
  plane.values.forEach((value, index) => {
    const x = (index % plane.width) * cell;
    const y = Math.floor(index / plane.width) * cell;
    const [red, green, blue] = colour(value, largest);
    context.fillStyle = `rgb(${red} ${green} ${blue})`;
    context.fillRect(x, y, cell - gap, cell - gap);
    if (cell < CELL_FOR_NUMBERS) return;
    context.fillStyle = value < -0.6 * largest ? "#fff" : "#111";
    context.fillText(cellNumber(value), x + cell / 2, y + cell / 2, cell - 2);
  });
}
