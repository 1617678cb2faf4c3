import {
  Background,
  type Connection,
  Controls,
  type Edge,
  MiniMap,
  type NodeChange,
  ReactFlow,
  ReactFlowProvider,
  applyNodeChanges,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import { type Ref, useCallback, useEffect, useImperativeHandle, useMemo, useRef, useState } from "react";

import { BlockNode, type BlockNodeType } from "./BlockNode";
import { wiresOf } from "./model";
import { problemsOf, useStudio } from "./studio";
import type { Problem, Wire } from "./types";

const KINDS = { block: BlockNode };
/** Room for the buttons below the blocks. */
const FIT = { padding: { top: "24px", left: "24px", right: "24px", bottom: "64px" }, maxZoom: 1 } as const;
/** Below this zoom nothing on a block can be read: only its name is drawn, so that many blocks move smoothly. */
const FAR = 0.2;
const MAP = { width: 150, height: 100 };

export interface CanvasHandle {
  fit: () => void;
  show: (id: string) => void;
  middle: () => [number, number];
}

interface CanvasProps {
  ref: Ref<CanvasHandle>;
  onSelect: (ids: string[]) => void;
  /** A wire is being drawn from this output, or no longer. */
  onDraw: (source: string | null) => void;
  onRefuse: (problem: Problem) => void;
}

export function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function portOf(node: string | null, handle: string | null | undefined): string {
  return `${node}.${handle}`;
}

function Drawing({ ref, onSelect, onDraw, onRefuse }: CanvasProps) {
  const studio = useStudio();
  const { page, misfits, dispatch } = studio;
  const flow = useReactFlow();
  const isFar = useStore((store) => store.transform[2] < FAR);
  const box = useRef<HTMLDivElement>(null);
  const [nodes, setNodes] = useState<BlockNodeType[]>([]);

  // The page is the truth; React Flow's nodes add what only it knows: sizes, selection, a drag under way.
  useEffect(() => {
    setNodes((before) => {
      const known = new Map(before.map((node) => [node.id, node]));
      return page.blocks.map((block, number) => {
        const [x, y] = block.at ?? [(number % 4) * 340, Math.floor(number / 4) * 320];
        return { ...known.get(block.id), id: block.id, type: "block" as const, position: { x, y }, data: { block } };
      });
    });
  }, [page.blocks]);

  const edges = useMemo<Edge[]>(() => {
    const bad = new Set(problemsOf(studio).map((problem) => `${problem.block}.${problem.place}`));
    return wiresOf(page).map(([source, target]) => {
      const [from, output] = source.split(".") as [string, string];
      const [to, pin] = target.split(".") as [string, string];
      const className = bad.has(target) ? "cut" : "";
      return { id: `${source}>${target}`, source: from, sourceHandle: output, target: to, targetHandle: pin, className };
    });
  }, [studio, page]);

  useImperativeHandle(ref, () => ({
    fit: () => void flow.fitView(FIT),
    show: (id) => {
      setNodes((all) => all.map((node) => ({ ...node, selected: node.id === id })));
      void flow.fitView({ nodes: [{ id }], padding: 0.6, maxZoom: 1, duration: 200 });
    },
    middle: () => {
      const size = box.current?.getBoundingClientRect();
      const { x, y } = flow.screenToFlowPosition({ x: (size?.left ?? 0) + (size?.width ?? 0) / 2 - 120, y: (size?.top ?? 0) + (size?.height ?? 0) / 3 });
      return [Math.round(x), Math.round(y)];
    },
  }));

  // React Flow calls some of these anew whenever they change: they must not change with every rendering.
  const select = useCallback(({ nodes: chosen }: { nodes: BlockNodeType[] }) => onSelect(chosen.map((node) => node.id)), [onSelect]);
  const change = useCallback(
    (changes: NodeChange<BlockNodeType>[]) => setNodes((all) => applyNodeChanges(changes.filter((one) => one.type !== "remove"), all)),
    [],
  );
  const isValid = useCallback(
    ({ target, targetHandle }: Connection | Edge) => !(portOf(target, targetHandle) in misfits),
    [misfits],
  );
  const connect = (connection: Connection) => {
    const source = portOf(connection.source, connection.sourceHandle);
    const target = portOf(connection.target, connection.targetHandle);
    dispatch({ type: "connect", wire: [source, target] });
  };
  const drop = (event: React.DragEvent) => {
    event.preventDefault();
    const kind = studio.kinds.get(event.dataTransfer.getData("text/plain"));
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    if (kind) dispatch({ type: "add", kind, at: [Math.round(x), Math.round(y)] });
  };
  const moved = (_: unknown, __: unknown, dragged: BlockNodeType[]) =>
    dispatch({
      type: "move",
      places: Object.fromEntries(dragged.map((node) => [node.id, [Math.round(node.position.x), Math.round(node.position.y)]])),
    });

  return (
    <main className={`canvas${isFar ? " far" : ""}`} ref={box} onDrop={drop} onDragOver={(event) => event.preventDefault()}>
      <ReactFlow<BlockNodeType>
        nodes={nodes}
        edges={edges}
        nodeTypes={KINDS}
        colorMode={studio.theme}
        minZoom={0.1}
        deleteKeyCode={["Delete", "Backspace"]}
        onNodesChange={change}
        onSelectionChange={select}
        onDelete={({ nodes: gone, edges: cut }) =>
          dispatch({ type: "remove", ids: gone.map((node) => node.id), wires: cut.map((edge) => edge.id.split(">") as Wire) })
        }
        onNodeDragStop={moved}
        onConnect={connect}
        onConnectStart={(_, { nodeId, handleId, handleType }) => handleType === "source" && onDraw(portOf(nodeId, handleId))}
        onConnectEnd={(_, { toHandle }) => {
          const problem = toHandle && misfits[portOf(toHandle.nodeId, toHandle.id)];
          if (problem) onRefuse(problem);
          onDraw(null);
        }}
        isValidConnection={isValid}
        fitView
        fitViewOptions={FIT}
      >
        <Background />
        <Controls orientation="horizontal" fitViewOptions={FIT} />
        <MiniMap pannable zoomable style={MAP} />
      </ReactFlow>
    </main>
  );
}
