// What the server says and takes, as JSON.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Field {
  name: string;
  kind: "integers" | "integer" | "numbers" | "number" | "choice" | "flag" | "value" | "text";
  text: string;
  required: boolean;
  default: Json;
  choices: string[];
  initial: Json;
}

interface Pin {
  name: string;
  text: string;
  typed: Field | null;
}

export interface Kind {
  op: string;
  group: string;
  summary: string;
  pins: Pin[];
  fields: Field[];
  outputs: string[];
  /** What the block does, with all arguments and an example. */
  reference: string;
}

export interface Block {
  id: string;
  op: string;
  attrs?: { [name: string]: Json };
  at?: [number, number];
}

export type Wire = [string, string];

export interface Page {
  name: string;
  blocks: Block[];
  wires?: Wire[];
  expect?: { [port: string]: Json };
}

export interface Document {
  format: string;
  version: number;
  title?: string;
  pages: Page[];
}

export interface Problem {
  code: string;
  name: string;
  message: string;
  page?: string;
  block?: string;
  place?: string;
  expected?: number[] | string;
}

export interface Outline {
  dtype: string;
  shape: number[];
}

export interface Output extends Outline {
  axes: [string, number][];
  min?: number | string;
  max?: number | string;
  sum?: number | string;
  nonzero: number;
  /** The first plane, where it is small. */
  first?: { height: number; width: number; values: (number | string)[] };
}

export interface Start {
  blocks: Kind[];
  examples: { [name: string]: string };
  readOnly: boolean;
  start: string | null;
  /** The page to begin with, where it does not stand in a file. */
  document?: Document;
  page?: string;
  formats: string[];
}

export interface Checked {
  ports: { [port: string]: Outline };
  problems: Problem[];
}

export interface Done {
  run: number;
  ports: { [port: string]: Output };
  problems: Problem[];
  blocks: { [id: string]: "done" | "failed" | "waits" };
}

export interface Plane {
  height: number;
  width: number;
  values: Float32Array;
}

/** Depth, row, column. */
export type Place = [number, number, number];
export type Ranges = [[number, number], [number, number], [number, number]];

export interface Volume {
  depth: number;
  height: number;
  width: number;
  values: Float32Array;
}

export interface FlowOverview {
  family: "spread" | "route";
  batch: number;
  channel: number;
  outputs: Place;
  size: Place;
  /** Windows that stand in a table, for each axis: where each starts and stops. */
  cuts: [number, number][][];
  words: string;
}

export interface FlowWindow {
  inside: Ranges | null;
  whole: Ranges | null;
  targets: Place[];
  lost: boolean;
  words: string;
}

export interface FlowCell {
  sources: Place[];
  words: string;
}

/** One image and channel of one block of one run. */
export interface Image {
  run: number;
  block: string;
  batch: number;
  channel: number;
}
