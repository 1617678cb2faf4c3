import { describe, expect, test } from "vitest";

import { type Action, EMPTY, type State, contentOf, current, freshId, initialAttributes, reduce, started } from "../src/model";
import { fixOf } from "../src/studio";
import type { Document, Field, Kind, Page } from "../src/types";

const field = (name: string, rest: Partial<Field> = {}): Field => ({
  name,
  kind: "integers",
  text: "",
  required: false,
  default: null,
  choices: [],
  initial: null,
  ...rest,
});
const ONES: Kind = {
  op: "Ones",
  group: "Sources",
  summary: "",
  pins: [{ name: "shape", text: "", typed: field("shape", { initial: [1, 4] }) }],
  fields: [field("dtype", { kind: "choice", choices: ["float32", "int32"], initial: "float32" })],
  outputs: ["output"], reference: "",
};
const SUM: Kind = { op: "Sum", group: "Arrays", summary: "", pins: [{ name: "input", text: "", typed: null }], fields: [], outputs: ["output"], reference: "" };

const after = (...actions: Action[]): State => actions.reduce(reduce, started(EMPTY));
const add = (kind: Kind): Action => ({ type: "add", kind, at: [0, 0] });
const WIRED: Action[] = [add(ONES), add(SUM), { type: "connect", wire: ["ones.output", "sum.input"] }];

describe("changes of a page", () => {
  test("a new block has a fresh id and good attributes", () => {
    const page = current(after(add(ONES), add(ONES)));
    expect(page.blocks.map((block) => block.id)).toEqual(["ones", "ones2"]);
    expect(page.blocks[0]!.attrs).toEqual({ shape: [1, 4], dtype: "float32" });
  });

  test("a wire takes the place of another, and of a typed value", () => {
    const state = after(...WIRED, add(ONES), { type: "connect", wire: ["ones2.output", "sum.input"] });
    expect(current(state).wires).toEqual([["ones2.output", "sum.input"]]);
    const typed = after(add(ONES), add(ONES), { type: "connect", wire: ["ones.output", "ones2.shape"] });
    expect(current(typed).blocks[1]!.attrs).toEqual({ dtype: "float32" });
  });

  test("a block goes with its wires", () => {
    const page = current(after(...WIRED, { type: "remove", ids: ["ones"], wires: [] }));
    expect(page.blocks.map((block) => block.id)).toEqual(["sum"]);
    expect(page.wires).toEqual([]);
  });

  test("a wire goes alone", () => {
    const page = current(after(...WIRED, { type: "remove", ids: [], wires: [["ones.output", "sum.input"]] }));
    expect(page.blocks).toHaveLength(2);
    expect(page.wires).toEqual([]);
  });

  test("copies have ids of their own and keep the wires among them", () => {
    const state = after(...WIRED);
    const page = current(state);
    const pasted = current(reduce(state, { type: "paste", blocks: page.blocks, wires: page.wires! }));
    expect(pasted.blocks.map((block) => block.id)).toEqual(["ones", "sum", "ones2", "sum2"]);
    expect(pasted.wires).toEqual([["ones.output", "sum.input"], ["ones2.output", "sum2.input"]]);
  });

  test("a new name goes along all wires; a bad or taken one is not taken", () => {
    const state = after(...WIRED);
    expect(current(reduce(state, { type: "rename", id: "ones", to: "x" })).wires).toEqual([["x.output", "sum.input"]]);
    expect(reduce(state, { type: "rename", id: "ones", to: "sum" })).toBe(state);
    expect(reduce(state, { type: "rename", id: "ones", to: "1x" })).toBe(state);
  });

  test("an attribute is set and taken out", () => {
    const set = after(add(ONES), { type: "attribute", id: "ones", name: "dtype", value: "int32" });
    expect(current(set).blocks[0]!.attrs!.dtype).toBe("int32");
    const out = reduce(set, { type: "attribute", id: "ones", name: "dtype", value: undefined });
    expect(current(out).blocks[0]!.attrs).toEqual({ shape: [1, 4] });
  });
});

describe("undo and redo", () => {
  test("every change is undone and redone", () => {
    const state = after(...WIRED, { type: "move", places: { ones: [5, 6] } });
    let back = state;
    for (let n = 0; n < 4; n++) back = reduce(back, { type: "undo" });
    expect(back.document).toEqual(EMPTY);
    expect(reduce(back, { type: "undo" })).toBe(back);
    let forth = back;
    for (let n = 0; n < 4; n++) forth = reduce(forth, { type: "redo" });
    expect(forth.document).toEqual(state.document);
    expect(reduce(forth, { type: "redo" })).toBe(forth);
  });

  test("a change after an undo forgets what was undone", () => {
    const state = after(add(ONES), { type: "undo" }, add(SUM), { type: "redo" });
    expect(current(state).blocks.map((block) => block.op)).toEqual(["Sum"]);
  });
});

test("ids are letters, digits and underscores", () => {
  expect(freshId("AvgPool3DGrad", new Set())).toBe("avgPool3DGrad");
  expect(freshId("a b", new Set(["ab"]))).toBe("ab2");
});

test("only sources have their pins typed at the start", () => {
  expect(initialAttributes({ ...ONES, group: "Arrays" })).toEqual({ dtype: "float32" });
});

describe("fixes", () => {
  const kinds = new Map([ONES, SUM].map((kind) => [kind.op, kind]));
  const page = (current(after(...WIRED)) satisfies Page) as Page;

  test("the source gets the shape or dtype that is needed", () => {
    const fault = { code: "PG201", name: "", message: "", block: "sum", place: "input" };
    expect(fixOf({ ...fault, expected: [1, 2] }, page, kinds)).toEqual({
      label: "make ones [1,2]",
      action: { type: "attribute", id: "ones", name: "shape", value: [1, 2] },
    });
    expect(fixOf({ ...fault, expected: "int32" }, page, kinds)?.action).toMatchObject({ name: "dtype", value: "int32" });
    expect(fixOf(fault, page, kinds)).toBeNull();
  });

  test("a choice gets its usual value", () => {
    const fix = fixOf({ code: "PG203", name: "", message: "", block: "ones", place: "dtype" }, page, kinds);
    expect(fix?.label).toBe("use float32");
  });
});

test("a loaded document has no past", () => {
  const document: Document = { ...EMPTY, title: "t" };
  const state = reduce(after(add(ONES)), { type: "load", document });
  expect(state).toEqual(started(document, 1));
});

test("places are no content", () => {
  const block = { id: "x", op: "Ones", attrs: { shape: [2] } };
  const document = (at: [number, number], size: number): Document => ({ ...EMPTY, pages: [{ name: "main", blocks: [{ ...block, attrs: { shape: [size] }, at }] }] });
  expect(contentOf(document([0, 0], 2))).toBe(contentOf(document([5, 7], 2)));
  expect(contentOf(document([0, 0], 2))).not.toBe(contentOf(document([0, 0], 3)));
  expect(JSON.parse(contentOf(document([5, 7], 2)))).toEqual({ ...EMPTY, pages: [{ name: "main", blocks: [block] }] });
});
