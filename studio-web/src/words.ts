// Values as text and back. The server reads text of every kind, so only JSON objects are read here.

import type { Json, Outline, Output } from "./types";

export function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.some(Array.isArray) ? JSON.stringify(value) : value.map(String).join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Typed text as an attribute: nothing for nothing, an object where it is one, else the text for the server to read. */
export function fromText(text: string): Json | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (!/^\{\s*"/.test(trimmed)) return trimmed;
  try {
    return JSON.parse(trimmed) as Json;
  } catch {
    return trimmed;
  }
}

export function outlineText(outline: Outline): string {
  return `${outline.dtype}[${outline.shape.join(",")}]`;
}

export function shortNumber(value: number | string | undefined): string {
  if (typeof value !== "number") return value === undefined ? "–" : value;
  return String(Number(value.toPrecision(4)));
}

const SPECIAL: { [word: string]: number } = { inf: Infinity, "-inf": -Infinity };

/** Numbers as JSON holds them: what it lacks is text. */
export function numbersOf(values: (number | string)[]): Float32Array {
  return Float32Array.from(values, (value) => (typeof value === "number" ? value : (SPECIAL[value] ?? NaN)));
}

/** Few digits, for the room of a cell: .083 and not 0.083; whole numbers as they are while they fit. */
export function cellNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e4 || (value !== 0 && size < 1e-3)) return value.toExponential(0).replace("+", "");
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 1 : 2 - Math.ceil(Math.log10(size));
  return String(Number(value.toFixed(Math.min(digits, 4)))).replace(/^(-?)0\./, "$1.");
}

export function summary(output: Output): string {
  if (output.min === undefined) return "no elements";
  const words = [`min ${shortNumber(output.min)}`, `max ${shortNumber(output.max)}`];
  return [...words, `sum ${shortNumber(output.sum)}`, `nonzero ${output.nonzero}`].join("  ");
}
