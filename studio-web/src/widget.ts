// A notebook as host: questions go to its Python as messages, answers come back with the same number.

import type { Host } from "./host";
import type { Document, Start } from "./types";

export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, listen: (content: Answer, buffers: DataView[]) => void): void;
  off(event: string, listen: (content: Answer, buffers: DataView[]) => void): void;
}

interface Answer {
  id: number;
  answer?: unknown;
  error?: string;
}

interface Waiting {
  resolve: (found: [unknown, DataView[]]) => void;
  reject: (error: Error) => void;
}

export function widgetHost(model: Model): { host: Host; close: () => void } {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  const listen = (content: Answer, buffers: DataView[]) => {
    const one = waiting.get(content.id);
    if (!one) return;
    waiting.delete(content.id);
    if (content.error === undefined) one.resolve([content.answer, buffers]);
    else one.reject(new Error(content.error));
  };
  model.on("msg:custom", listen);
  const asked = (name: string, ...given: unknown[]) =>
    new Promise<[unknown, DataView[]]>((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      model.send({ id, name, arguments: given });
    });
  const ask = async <T>(name: string, ...given: unknown[]): Promise<T> => (await asked(name, ...given))[0] as T;
  const numbers = async (name: string, ...given: unknown[]): Promise<[number[], Float32Array]> => {
    const [shape, [view]] = await asked(name, ...given);
    const bytes = view!.buffer.slice(view!.byteOffset, view!.byteOffset + view!.byteLength);
    return [shape as number[], new Float32Array(bytes as ArrayBuffer)];
  };
  const text = (document: Document) => JSON.stringify(document);
  const host: Host = {
    start: () => ask<Start>("start"),
    example: (name) => ask("example", name),
    files: () => ask("files"),
    open: (name) => ask("open", name),
    save: (name, document) => ask("save", name, text(document)),
    check: (document, page) => ask("check", text(document), page),
    run: (document, page) => ask("run", text(document), page),
    misfits: (document, page, source) => ask("misfits", text(document), page, source),
    layout: (document, page) => ask("lay_out", text(document), page),
    export: (document, page, form) => ask("export", text(document), page, form),
    values: async (run, port, place, form) => (await ask<{ text: string }>("values", run, port, place, form)).text,
    flow: (run, block) => ask("flow_overview", run, block),
    flowWindow: ({ run, block, batch, channel }, place) => ask("flow_window", run, block, batch, channel, place),
    flowCell: ({ run, block, batch, channel }, place) => ask("flow_cell", run, block, batch, channel, place),
    async flowVolume({ run, block, batch, channel }, what, count) {
      const [[depth, height, width], values] = await numbers("flow_volume", run, block, batch, channel, what, count);
      return { depth: depth!, height: height!, width: width!, values };
    },
    async slice(run, port, place) {
      const [[height, width], values] = await numbers("slice", run, port, place);
      return { height: height!, width: width!, values };
    },
  };
  return { host, close: () => model.off("msg:custom", listen) };
}
