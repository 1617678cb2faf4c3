import { memo } from "react";

import { colour } from "./colour";
import { type Drawn, type Slice, type View, cut, deepest, middle, valueAt } from "./flow";
import type { Place, Ranges, Volume } from "./types";
import { cellNumber } from "./words";

const CELL_FOR_NUMBERS = 22;

interface CellsProps {
  name: string;
  volume: Volume;
  /** What full colour stands for. */
  largest: number;
  drawn: Drawn;
  view: View;
  /** Counts are told apart by shades, values by a scale around zero. */
  isCount: boolean;
  /** Cells that nothing can reach. */
  isBare: (place: Place) => boolean;
  onPoint: (place: Place) => void;
}

/** Every slice of a volume, cell by cell. */
export const Cells = memo(function Cells({ name, volume, largest, drawn, view, isCount, isBare, onPoint }: CellsProps) {
  return drawn.slices.map((slice) => (
    <g key={slice.depth} transform={`matrix(${slice.matrix.join(" ")})`} data-slice={`${name} ${slice.depth}`}>
      {volume.depth > 1 && view !== "stack" ? (
        <text className="caption" x={0} y={-4}>
          {view === "largest" ? "largest of all depths" : `depth ${slice.depth}`}
        </text>
      ) : null}
      {Array.from({ length: volume.height * volume.width }, (_, index) => {
        const [row, column] = [Math.floor(index / volume.width), index % volume.width];
        const place: Place = [view === "largest" ? deepest(volume, row, column) : slice.depth, row, column];
        const value = valueAt(volume, place);
        const [red, green, blue] = colour(isCount ? -value : value, largest);
        const [x, y] = [column * drawn.cell, row * drawn.cell];
        return (
          <g key={index} onMouseEnter={() => onPoint(place)} data-place={`${name} ${place.join(" ")}`}>
            <rect x={x} y={y} width={drawn.cell - 1} height={drawn.cell - 1} fill={`rgb(${red} ${green} ${blue})`} />
            {isBare(place) ? <rect x={x} y={y} width={drawn.cell - 1} height={drawn.cell - 1} fill="url(#bare)" /> : null}
            {drawn.cell >= CELL_FOR_NUMBERS && view !== "stack" ? (
              <text x={x + drawn.cell / 2 - 0.5} y={y + drawn.cell / 2 + 3} fill={(isCount ? value : -value) > 0.6 * largest ? "#fff" : "#111"}>
                {cellNumber(value)}
              </text>
            ) : null}
          </g>
        );
      })}
    </g>
  ));
});

function shows(slice: Slice, view: View, [start, stop]: [number, number]): boolean {
  return view === "largest" || (slice.depth >= start && slice.depth < stop);
}

interface BoxProps {
  drawn: Drawn;
  view: View;
  size: Place;
  inside: Ranges;
  whole: Ranges;
}

/** A window in every slice it reaches, its padding hatched. */
export function WindowBox({ drawn, view, size, inside, whole }: BoxProps) {
  return drawn.slices
    .filter((slice) => shows(slice, view, inside[0]))
    .map((slice) => {
      const box = (ranges: Ranges) => {
        const [top, bottom] = cut(ranges[1], size[1], drawn.margin);
        const [left, right] = cut(ranges[2], size[2], drawn.margin);
        return { x: left * drawn.cell, y: top * drawn.cell, width: (right - left) * drawn.cell - 1, height: (bottom - top) * drawn.cell - 1 };
      };
      const [outer, inner] = [box(whole), box(inside)];
      // Of a large volume only a corner is drawn.
      if (inner.width <= 0 || inner.height <= 0) return null;
      const hole = `M${inner.x} ${inner.y}v${inner.height}h${inner.width}v${-inner.height}z`;
      return (
        <g key={slice.depth} transform={`matrix(${slice.matrix.join(" ")})`} className="window">
          <path d={`M${outer.x} ${outer.y}h${outer.width}v${outer.height}h${-outer.width}z${hole}`} fill="url(#padding)" className="padding" />
          <rect {...inner} className="inside" />
        </g>
      );
    });
}

/** Lines where fractional cells begin; what two of them share is shaded. */
export function Cuts({ drawn, size, cuts }: { drawn: Drawn; size: Place; cuts: [number, number][][] }) {
  const [rows, columns] = cuts.slice(-2) as [[number, number][], [number, number][]];
  const [height, width] = [size[1] * drawn.cell, size[2] * drawn.cell];
  const starts = (pairs: [number, number][]) => pairs.slice(1).map(([start]) => start * drawn.cell - 0.5);
  const shared = (pairs: [number, number][]) =>
    pairs.slice(1).flatMap(([start], k) => (pairs[k]![1] > start ? [[start * drawn.cell, (pairs[k]![1] - start) * drawn.cell - 1] as const] : []));
  return drawn.slices.map((slice) => (
    <g key={slice.depth} transform={`matrix(${slice.matrix.join(" ")})`} className="cuts">
      {shared(rows).map(([y, size]) => (
        <rect key={`r${y}`} className="shared" x={0} y={y} width={width - 1} height={size} />
      ))}
      {shared(columns).map(([x, size]) => (
        <rect key={`c${x}`} className="shared" x={x} y={0} width={size} height={height - 1} />
      ))}
      {starts(rows).map((y) => (
        <line key={`r${y}`} x1={-4} x2={width + 3} y1={y} y2={y} />
      ))}
      {starts(columns).map((x) => (
        <line key={`c${x}`} x1={x} x2={x} y1={-4} y2={height + 3} />
      ))}
    </g>
  ));
}

/** A ring around each of these cells. */
export function Rings({ drawn, places, className }: { drawn: Drawn; places: Place[]; className: string }) {
  return places.map((place) => {
    const at = middle(drawn, place);
    return at ? <circle key={place.join(" ")} className={className} cx={at[0]} cy={at[1]} r={Math.max(3, drawn.cell / 2 - 1.5)} /> : null;
  });
}

/** From cells of one volume to cells of another. */
export function Lines({ pairs }: { pairs: [[number, number] | null, [number, number] | null][] }) {
  return pairs.map(([from, to], key) => (from && to ? <line key={key} className="route" x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]} /> : null));
}

/** A dot on each cell that wins, a cross on each gradient that is lost. */
export const Marks = memo(function Marks({ drawn, volume, mark }: { drawn: Drawn; volume: Volume; mark: "dot" | "cross" }) {
  return drawn.slices.map((slice) => (
    <g key={slice.depth} transform={`matrix(${slice.matrix.join(" ")})`} className={`marks ${mark}`}>
      {Array.from({ length: volume.height * volume.width }, (_, index) => {
        const [row, column] = [Math.floor(index / volume.width), index % volume.width];
        const value = valueAt(volume, [drawn.isFlat ? deepest(volume, row, column) : slice.depth, row, column]);
        const [x, y, s] = [column * drawn.cell, row * drawn.cell, drawn.cell];
        if (mark === "dot") return value > 0 ? <circle key={index} cx={x + s / 2 - 0.5} cy={y + s - 5} r={Math.min(3, s / 5)} /> : null;
        return value === 0 ? <path key={index} d={`M${x + 3} ${y + 3}l${s - 7} ${s - 7}m0 ${7 - s}l${7 - s} ${s - 7}`} /> : null;
      })}
    </g>
  ));
});
