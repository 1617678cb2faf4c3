import { useState } from "react";

import type { Output } from "./types";

interface SliderProps {
  name: string;
  /** What it belongs to. */
  whose: string;
  value: number;
  size: number;
  words?: string;
  onChange: (value: number) => void;
}

/** A number to choose, if there is more than one. */
export function Slider({ name, whose, value, size, words, onChange }: SliderProps) {
  if (size <= 1) return null;
  return (
    <label className="slide">
      {words ?? `${name} ${value}`}
      <input type="range" min={0} max={size - 1} value={value} aria-label={`${name} of ${whose}`} onChange={(event) => onChange(Number(event.target.value))} />
    </label>
  );
}

/** Which plane of an output is shown, by its places along the other axes, and sliders to choose another. */
export function usePlane(output: Output, whose: string) {
  const [asked, setAsked] = useState<number[]>([]);
  const place = output.axes.map(([, size], axis) => Math.max(0, Math.min(asked[axis] ?? 0, size - 1)));
  const sliders = output.axes.map(([name, size], axis) => (
    <Slider key={name} name={name} whose={whose} value={place[axis]!} size={size} onChange={(value) => setAsked(place.map((n, k) => (k === axis ? value : n)))} />
  ));
  return { place, sliders };
}
