// Where pages are checked, run and kept. The editor knows this interface only.

import type { Checked, Document, Done, FlowCell, FlowOverview, FlowWindow, Image, Place, Plane, Problem, Start, Volume } from "./types";

export interface Host {
  start(): Promise<Start>;
  example(name: string): Promise<Document>;
  files(): Promise<string[]>;
  open(name: string): Promise<Document>;
  save(name: string, document: Document): Promise<void>;
  check(document: Document, page: string): Promise<Checked>;
  run(document: Document, page: string): Promise<Done>;
  misfits(document: Document, page: string, source: string): Promise<{ [port: string]: Problem }>;
  layout(document: Document, page: string): Promise<{ [id: string]: [number, number] }>;
  slice(run: number, port: string, place: number[]): Promise<Plane>;
  /** A plane's numbers in full, as text to copy. */
  values(run: number, port: string, place: number[], form: "csv" | "numpy"): Promise<string>;
  flow(run: number, block: string): Promise<FlowOverview>;
  flowWindow(image: Image, place: Place): Promise<FlowWindow>;
  flowCell(image: Image, place: Place): Promise<FlowCell>;
  flowVolume(image: Image, what: "grad" | "dx" | "cover" | "hits" | "winners", count: number | null): Promise<Volume>;
  export(document: Document, page: string, form: string): Promise<{ text: string; suffix: string }>;
}

/** The server that sent this page. Its token stands behind the # of the address, which browsers never send. */
export function httpHost(token: string): Host {
  async function answer(path: string, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = { "x-poolgrad-token": token };
    if (body !== undefined) headers["content-type"] = "application/json";
    const method = body === undefined ? "GET" : "POST";
    const response = await fetch(`/api/${path}`, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
    if (response.ok) return response;
    const text = await response.text();
    let message = text;
    try {
      message = (JSON.parse(text) as { message: string }).message;
    } catch {
      // Not JSON: the words as they are.
    }
    throw new Error(message.trim());
  }
  async function json<T>(path: string, body?: unknown): Promise<T> {
    return (await answer(path, body)).json() as Promise<T>;
  }
  const page = (document: Document, name: string) => ({ text: JSON.stringify(document), page: name });
  return {
    start: () => json("start"),
    example: (name) => json(`examples/${encodeURIComponent(name)}`),
    files: async () => (await json<{ files: string[] }>("files")).files,
    open: (name) => json("open", { name }),
    save: async (name, document) => void (await json("save", { name, text: JSON.stringify(document) })),
    check: (document, name) => json("check", page(document, name)),
    run: (document, name) => json("run", page(document, name)),
    misfits: (document, name, source) => json("misfits", { ...page(document, name), source }),
    layout: (document, name) => json("layout", page(document, name)),
    export: (document, name, form) => json("export", { ...page(document, name), form }),
    values: async (run, port, place, form) => (await json<{ text: string }>("values", { run, port, place, form })).text,
    flow: (run, block) => json("flow/overview", { run, block }),
    flowWindow: (image, place) => json("flow/window", { ...image, place }),
    flowCell: (image, place) => json("flow/cell", { ...image, place }),
    async flowVolume(image, what, count) {
      const response = await answer("flow/volume", { ...image, what, count });
      const size = (name: string) => Number(response.headers.get(name));
      return { depth: size("x-depth"), height: size("x-height"), width: size("x-width"), values: new Float32Array(await response.arrayBuffer()) };
    },
    async slice(run, port, place) {
      const response = await answer("slice", { run, port, place });
      const size = (name: string) => Number(response.headers.get(name));
      return { height: size("x-height"), width: size("x-width"), values: new Float32Array(await response.arrayBuffer()) };
    },
  };
}
