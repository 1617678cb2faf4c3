// How volumes are laid out on a drawing: slices side by side, one of them, the largest of all, or a tilted stack.

import type { Place, Volume } from "./types";

export type View = "slices" | "one slice" | "largest" | "stack";
export const VIEWS: View[] = ["slices", "one slice", "largest", "stack"];

/** SVG's matrix: x' = a x + c y + e, y' = b x + d y + f. */
type Matrix = [number, number, number, number, number, number];

export interface Slice {
  depth: number;
  matrix: Matrix;
}

export interface Drawn {
  cell: number;
  /** Room around each slice, for what reaches into the padding. */
  margin: number;
  slices: Slice[];
  /** One slice stands for all depths. */
  isFlat: boolean;
  width: number;
  height: number;
}

const LARGEST = 30;
const TILTED = 22;
const SMALLEST = 5;
const CAPTION = 13;
const TILT = 0.45;
const FLAT = 0.55;

/** Slices of a volume within a width, from a height on. */
export function arranged(shape: Place, view: View, depth: number, room: number, top: number, margin: number): Drawn {
  const [count, height, width] = shape;
  const depths = view === "slices" || view === "stack" ? Array.from({ length: count }, (_, n) => n) : [Math.min(depth, count - 1)];
  if (view === "stack") return stacked(depths, height, width, room, top, margin);
  // As many slices in a row as fit while cells stay large enough to read, but never cells larger than needed.
  let best: { cell: number; columns: number } = { cell: 0, columns: 1 };
  for (let columns = 1; columns <= depths.length; columns++) {
    const cell = Math.min(LARGEST, Math.floor(room / columns / (width + 2 * margin)));
    if (columns === 1 || cell >= 20) best = { cell, columns };
  }
  const cell = Math.max(SMALLEST, best.cell);
  const [stepX, stepY] = [(width + 2 * margin) * cell, (height + 2 * margin) * cell + CAPTION];
  const slices = depths.map((n, k): Slice => {
    const [x, y] = [(k % best.columns) * stepX, Math.floor(k / best.columns) * stepY];
    return { depth: n, matrix: [1, 0, 0, 1, x + margin * cell, top + y + margin * cell + CAPTION] };
  });
  return { cell, margin, slices, isFlat: view === "largest", width: stepX * best.columns, height: stepY * Math.ceil(depths.length / best.columns) };
}

function stacked(depths: number[], height: number, width: number, room: number, top: number, margin: number): Drawn {
  const wide = width + 2 * margin + (height + 2 * margin) * TILT;
  const cell = Math.max(SMALLEST, Math.min(TILTED, Math.floor(room / wide)));
  const step = height * cell * FLAT + 6;
  const left = (height + margin) * TILT * cell + margin * cell;
  const slices = depths.map((n, k): Slice => ({ depth: n, matrix: [1, 0, -TILT, FLAT, left, top + CAPTION + k * step + margin * cell * FLAT] }));
  return { cell, margin, slices, isFlat: false, width: wide * cell, height: CAPTION + step * depths.length + 2 * margin * cell * FLAT };
}

/** Where the middle of a cell lies on the drawing, in the slice that shows it. */
export function middle(drawn: Drawn, [depth, row, column]: Place): [number, number] | null {
  const slice = drawn.slices.find((one) => one.depth === depth) ?? (drawn.isFlat ? drawn.slices[0] : undefined);
  if (!slice) return null;
  const [a, b, c, d, e, f] = slice.matrix;
  const [x, y] = [(column + 0.5) * drawn.cell, (row + 0.5) * drawn.cell];
  return [a * x + c * y + e, b * x + d * y + f];
}

export function valueAt(volume: Volume, [depth, row, column]: Place): number {
  return volume.values[(depth * volume.height + row) * volume.width + column] ?? 0;
}

/** The depth at which the largest value without its sign stands, for every row and column. */
export function deepest(volume: Volume, row: number, column: number): number {
  let best = 0;
  for (let depth = 1; depth < volume.depth; depth++) {
    if (Math.abs(valueAt(volume, [depth, row, column])) > Math.abs(valueAt(volume, [best, row, column]))) best = depth;
  }
  return best;
}

/** The output of this number in the order of the windows. */
export function nth(number: number, [, rows, columns]: Place): Place {
  return [Math.floor(number / (rows * columns)), Math.floor(number / columns) % rows, number % columns];
}

/** A range cut to what is drawn around a slice. */
export function cut([start, stop]: [number, number], size: number, margin: number): [number, number] {
  return [Math.max(start, -margin), Math.min(stop, size + margin)];
}
