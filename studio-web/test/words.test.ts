import { expect, test } from "vitest";

import { colour, reach } from "../src/colour";
import { cellNumber, numbersOf, asText, fromText, outlineText, shortNumber, summary } from "../src/words";

test.each([
  [[1, 2, 2, 1], "1,2,2,1"],
  [{ range: [1, 4] }, '{"range":[1,4]}'],
  [[[1], [2]], "[[1],[2]]"],
  ["SAME", "SAME"],
  [null, ""],
  [undefined, ""],
  [false, "false"],
])("a value is shown as text", (value, text) => expect(asText(value)).toBe(text));

test.each([
  ["1,2", "1,2"],
  ["{1,2}", "{1,2}"],
  ['{"range":[1,4]}', { range: [1, 4] }],
  ['{"range":', '{"range":'],
  ["  ", undefined],
])("text is left to the server, but for objects", (text, value) => expect(fromText(text)).toEqual(value));

test("numbers are short", () => {
  expect(shortNumber(0.083333)).toBe("0.08333");
  expect(shortNumber("nan")).toBe("nan");
  expect(outlineText({ dtype: "int8", shape: [2, 3] })).toBe("int8[2,3]");
  expect(summary({ dtype: "int8", shape: [0], axes: [], nonzero: 0 })).toBe("no elements");
});

test("the colour scale is fixed at zero", () => {
  expect(colour(0, 5)).toEqual([247, 247, 247]);
  expect(colour(5, 5)).toEqual([209, 110, 20]);
  expect(colour(-9, 5)).toEqual([33, 102, 172]);
  expect(colour(NaN, 5)).toEqual([153, 153, 153]);
  expect(colour(0, 0)).toEqual([247, 247, 247]);
  expect(reach(new Float32Array([1, -3, Infinity, NaN]))).toBe(3);
});

test("numbers in cells are short", () => {
  const numbers = [0, 0.0833, -0.125, 0.00833, 1.944, 12, 12.35, 136, 1234.5, 23456, 0.0004, NaN, -Infinity];
  const words = ["0", ".083", "-.13", ".0083", "1.9", "12", "12.3", "136", "1235", "2e4", "4e-4", "NaN", "-Infinity"];
  expect(numbers.map(cellNumber)).toEqual(words);
});

test("numbers that JSON lacks are text", () => {
  expect([...numbersOf([1.5, "inf", "-inf", "nan"])]).toEqual([1.5, Infinity, -Infinity, NaN]);
});
