import { expect, test } from "vitest";

import { isAway } from "../src/BlockNode";

/** A block of 264 x 300 at this place, seen in a canvas of 800 x 600. */
function store(x: number, y: number, transform: [number, number, number]) {
  const node = { measured: { width: 264, height: 300 }, internals: { positionAbsolute: { x, y } } };
  return { nodeLookup: new Map([["a", node]]), transform, width: 800, height: 600 } as unknown as Parameters<typeof isAway>[0];
}

test.each([
  [0, 0, [0, 0, 1], false],
  [1190, 890, [0, 0, 1], false],
  [1210, 0, [0, 0, 1], true],
  [0, 910, [0, 0, 1], true],
  [-700, 0, [0, 0, 1], true],
  [0, -610, [0, 0, 1], true],
  [0, -610, [0, 400, 1], false],
  [5000, 0, [0, 0, 0.1], false],
] as [number, number, [number, number, number], boolean][])("a block at %d, %d is drawn unless it is far off", (x, y, transform, away) =>
  expect(isAway(store(x, y, transform), "a")).toBe(away));

test("a block that has no size yet is drawn", () => expect(isAway(store(0, 0, [0, 0, 1]), "b")).toBe(false));
