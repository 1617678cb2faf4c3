// A diverging scale fixed at zero: blue below, orange above, told apart with any kind of colour vision.

type Rgb = [number, number, number];

const BELOW: Rgb = [33, 102, 172];
const ZERO: Rgb = [247, 247, 247];
const ABOVE: Rgb = [209, 110, 20];
const NONE: Rgb = [153, 153, 153];

export function colour(value: number, largest: number): Rgb {
  if (Number.isNaN(value)) return NONE;
  const share = largest > 0 ? Math.min(1, Math.abs(value) / largest) : 0;
  const end = value < 0 ? BELOW : ABOVE;
  return ZERO.map((zero, part) => Math.round(zero + share * (end[part]! - zero))) as Rgb;
}

/** The largest finite value without its sign. */
export function reach(values: Float32Array): number {
  let largest = 0;
  for (const value of values) if (Number.isFinite(value) && Math.abs(value) > largest) largest = Math.abs(value);
  return largest;
}
