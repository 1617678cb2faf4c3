import { describe, expect, it } from "vitest";

import { arranged, cut, deepest, middle, nth, valueAt } from "../src/flow";

const volume = { depth: 2, height: 2, width: 3, values: Float32Array.from([1, -9, 3, 4, 5, 6, 7, 8, -2, 0, 5, 1]) };

describe("volumes", () => {
  it("hold depth, row and column in this order", () => {
    expect(valueAt(volume, [1, 0, 2])).toBe(-2);
    expect([0, 1, 2].map((column) => deepest(volume, 0, column))).toEqual([1, 0, 0]);
  });

  it("have windows in the order of the kernel", () => {
    expect([0, 2, 3, 11].map((number) => nth(number, [2, 2, 3]))).toEqual([[0, 0, 0], [0, 0, 2], [0, 1, 0], [1, 1, 2]]);
  });
});

describe("drawings", () => {
  it("never leave their room", () => {
    for (const view of ["slices", "one slice", "largest", "stack"] as const) {
      for (const shape of [[1, 4, 4], [4, 5, 6], [16, 2, 2], [1, 40, 40]] as const) {
        const drawn = arranged([...shape], view, 0, 430, 0, 1);
        expect(drawn.width).toBeLessThanOrEqual(430);
        expect(drawn.slices.length).toBe(view === "slices" || view === "stack" ? shape[0] : 1);
      }
    }
  });

  it("find the middle of a cell in its own slice", () => {
    const drawn = arranged([2, 2, 3], "slices", 0, 430, 10, 1);
    const [left, right] = [middle(drawn, [0, 1, 2])!, middle(drawn, [1, 1, 2])!];
    expect(right[0] - left[0]).toBe(5 * drawn.cell);
    expect(right[1]).toBe(left[1]);
    expect(middle(arranged([2, 2, 3], "one slice", 1, 430, 10, 1), [0, 0, 0])).toBeNull();
    expect(middle(arranged([2, 2, 3], "largest", 0, 430, 10, 1), [1, 0, 0])).not.toBeNull();
    expect(middle(drawn, [5, 0, 0])).toBeNull();
  });

  it("cut padding to the margin", () => {
    expect(cut([-3, 2], 5, 1)).toEqual([-1, 2]);
    expect(cut([4, 8], 5, 1)).toEqual([4, 6]);
  });
});
