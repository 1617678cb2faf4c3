// The page being edited: plain data, changed by actions, every change undone and redone.

import type { Block, Document, Json, Kind, Page, Wire } from "./types";

export interface State {
  document: Document;
  page: string;
  /** Counts the documents that were loaded: results of one are none of another. */
  opened: number;
  past: Document[];
  future: Document[];
}

export type Action =
  | { type: "load"; document: Document }
  | { type: "page"; name: string }
  | { type: "add"; kind: Kind; at: [number, number] }
  | { type: "paste"; blocks: Block[]; wires: Wire[] }
  | { type: "remove"; ids: string[]; wires: Wire[] }
  | { type: "move"; places: { [id: string]: [number, number] } }
  | { type: "connect"; wire: Wire }
  | { type: "attribute"; id: string; name: string; value: Json | undefined }
  | { type: "rename"; id: string; to: string }
  | { type: "title"; title: string }
  | { type: "undo" }
  | { type: "redo" };

const MOST_UNDONE = 100;

export const EMPTY: Document = { format: "poolgrad-page", version: 1, pages: [{ name: "main", blocks: [] }] };

export function started(document: Document, opened = 0): State {
  return { document, page: document.pages[0]!.name, opened, past: [], future: [] };
}

export function current(state: State): Page {
  return state.document.pages.find((page) => page.name === state.page) ?? state.document.pages[0]!;
}

/** All of a document that is computed, as text: places of blocks are left out. */
export function contentOf(document: Document): string {
  const pages = document.pages.map((page) => ({ ...page, blocks: page.blocks.map(({ at: _, ...block }) => block) }));
  return JSON.stringify({ ...document, pages });
}

export function wiresOf(page: Page): Wire[] {
  return page.wires ?? [];
}

function blockOf(port: string): string {
  return port.split(".")[0]!;
}

/** An id not yet taken: the op's name in small letters, with a number if need be. */
export function freshId(base: string, taken: Set<string>): string {
  const stem = base.replace(/[^A-Za-z0-9_]/g, "").slice(0, 30) || "block";
  const word = stem.charAt(0).toLowerCase() + stem.slice(1);
  for (let number = 1; ; number++) {
    const id = number === 1 ? word : `${word}${number}`;
    if (!taken.has(id)) return id;
  }
}

/** What a new block starts with. */
export function initialAttributes(kind: Kind): { [name: string]: Json } {
  const attrs: { [name: string]: Json } = {};
  const typed = kind.pins.flatMap((pin) => (pin.typed && kind.group === "Sources" ? [pin.typed] : []));
  for (const field of [...typed, ...kind.fields]) if (field.initial !== null) attrs[field.name] = field.initial;
  return attrs;
}

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case "load":
      return started(action.document, state.opened + 1);
    case "page":
      return { ...state, page: action.name };
    case "undo": {
      const before = state.past.at(-1);
      if (!before) return state;
      return { ...state, document: before, past: state.past.slice(0, -1), future: [state.document, ...state.future] };
    }
    case "redo": {
      const [after, ...rest] = state.future;
      if (!after) return state;
      return { ...state, document: after, past: [...state.past, state.document], future: rest };
    }
    case "title":
      return changed(state, { ...state.document, title: action.title });
    default: {
      const page = current(state);
      const made = edit(page, action);
      if (made === page) return state;
      const pages = state.document.pages.map((one) => (one === page ? made : one));
      return changed(state, { ...state.document, pages });
    }
  }
}

function changed(state: State, document: Document): State {
  return { ...state, document, past: [...state.past, state.document].slice(-MOST_UNDONE), future: [] };
}

type Edit = Exclude<Action, { type: "load" | "page" | "undo" | "redo" | "title" }>;

function edit(page: Page, action: Edit): Page {
  const wires = wiresOf(page);
  switch (action.type) {
    case "add": {
      const id = freshId(action.kind.op, new Set(page.blocks.map((block) => block.id)));
      const block: Block = { id, op: action.kind.op, attrs: initialAttributes(action.kind), at: action.at };
      return { ...page, blocks: [...page.blocks, block] };
    }
    case "paste":
      return pasted(page, action.blocks, action.wires);
    case "remove": {
      const gone = new Set(action.ids);
      const cut = new Set(action.wires.map(String));
      const blocks = page.blocks.filter((block) => !gone.has(block.id));
      const kept = wires.filter((wire) => !cut.has(String(wire)) && !wire.some((port) => gone.has(blockOf(port))));
      return blocks.length === page.blocks.length && kept.length === wires.length ? page : { ...page, blocks, wires: kept };
    }
    case "move":
      return { ...page, blocks: page.blocks.map((block) => ({ ...block, at: action.places[block.id] ?? block.at })) as Block[] };
    case "connect": {
      const [, target] = action.wire;
      const [id, pin] = target.split(".") as [string, string];
      const blocks = page.blocks.map((block) => (block.id === id ? without(block, pin) : block));
      return { ...page, blocks, wires: [...wires.filter((wire) => wire[1] !== target), action.wire] };
    }
    case "attribute":
      return { ...page, blocks: page.blocks.map((block) => (block.id === action.id ? withAttribute(block, action.name, action.value) : block)) };
    case "rename":
      return renamed(page, action.id, action.to);
  }
}

function without(block: Block, name: string): Block {
  return withAttribute(block, name, undefined);
}

function withAttribute(block: Block, name: string, value: Json | undefined): Block {
  const { [name]: _, ...rest } = block.attrs ?? {};
  return { ...block, attrs: value === undefined ? rest : { ...rest, [name]: value } };
}

function renamed(page: Page, from: string, to: string): Page {
  if (!/^[A-Za-z][A-Za-z0-9_]{0,39}$/.test(to) || page.blocks.some((block) => block.id === to)) return page;
  const port = (text: string) => (blockOf(text) === from ? to + text.slice(from.length) : text);
  const expect = Object.fromEntries(Object.entries(page.expect ?? {}).map(([name, wanted]) => [port(name), wanted]));
  const blocks = page.blocks.map((block) => (block.id === from ? { ...block, id: to } : block));
  const made: Page = { ...page, blocks, wires: wiresOf(page).map(([a, b]) => [port(a), port(b)]) };
  return page.expect ? { ...made, expect } : made;
}

function pasted(page: Page, blocks: Block[], wires: Wire[]): Page {
  const taken = new Set(page.blocks.map((block) => block.id));
  const names = new Map<string, string>();
  for (const block of blocks) {
    const id = freshId(block.id, taken);
    taken.add(id);
    names.set(block.id, id);
  }
  const port = (text: string) => (names.get(blockOf(text)) ?? blockOf(text)) + text.slice(blockOf(text).length);
  const copies = blocks.map((block): Block => {
    const [x, y] = block.at ?? [0, 0];
    return { ...block, id: names.get(block.id)!, at: [x + 40, y + 40] };
  });
  const inner = wires.filter((wire) => wire.every((end) => names.has(blockOf(end))));
  return { ...page, blocks: [...page.blocks, ...copies], wires: [...wiresOf(page), ...inner.map(([a, b]): Wire => [port(a), port(b)])] };
}
