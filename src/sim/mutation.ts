/**
 * Machines and boards that are broken on purpose: each breaks one rule of DESIGN section 4, and the
 * checker has to find it. What finds nothing when there is something is no checker.
 */
import { ok } from "../base/mod.ts";
import type { Board, SimMachine } from "../board/mod.ts";
import type { Journal } from "../owner/mod.ts";
import type { SimGpus } from "./sim-gpus.ts";

/** What each mutation does, and the invariant that it breaks; 0: a request never settles. */
export const MUTATIONS = {
  moves_nothing: { invariant: 1, brief: "an acquire says that it has moved the window" },
  scrubs_memory: { invariant: 2, brief: "a swap zeroes what the other dies hold" },
  loads_again: { invariant: 3, brief: "the board denies that the driver is loaded" },
  journals_late: { invariant: 4, brief: "the journal is written after the step has begun" },
  moves_while_busy: { invariant: 5, brief: "the board moves the window under a kernel" },
  restores_nothing: { invariant: 6, brief: "overrides stay after a step that failed" },
  hides_wrong_answers: { invariant: 7, brief: "a die that computes wrongly passes its probe" },
  never_answers: { invariant: 0, brief: "a bind neither ends nor is given up" },
} as const;

export type Mutation = keyof typeof MUTATIONS;

const forever = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** The board as the mutation has it. */
export function mutateBoard(
  board: Board,
  mutation: Mutation | null,
  { machine, gpus }: { readonly machine: SimMachine; readonly gpus: SimGpus },
): Board {
  const { driver } = board;
  switch (mutation) {
    case "moves_nothing":
      return {
        ...board,
        acquire: (die) =>
          board.occupant(board.hostGroupOf(die)) === null
            ? board.acquire(die)
            : Promise.resolve(ok({ die, bar1Address: 0n })),
      };
    case "scrubs_memory":
      return {
        ...board,
        acquire: async (die) => {
          const view = await board.acquire(die);
          const others = machine.dies.filter((other) => other.die !== die);
          for (const other of others)
            for (const context of gpus.contextsOf(other.die))
              for (const bytes of context.view.memory.values()) bytes.fill(0);
          return view;
        },
      };
    case "loads_again":
      return { ...board, driver: { ...driver, isLoaded: () => false, isBound: () => false } };
    case "moves_while_busy":
      machine.observe((seen) => {
        if (seen.kind !== "begin" || seen.step !== "kernel") return;
        const other = machine.dies.find(
          (die) => die.die !== seen.die && die.board === machine.dieOf(seen.die).board,
        );
        machine.clock.after(0, () => {
          if (other !== undefined && machine.isComputing(seen.die)) void board.acquire(other.die);
        });
      });
      return board;
    case "restores_nothing":
      return { ...board, driver: { ...driver, restore: () => Promise.resolve() } };
    case "never_answers":
      return { ...board, driver: { ...driver, bind: forever } };
    case "journals_late":
    case "hides_wrong_answers":
    case null:
      return board;
  }
}

/** The journal as the mutation has it. */
export const mutateJournal = (
  journal: Journal,
  mutation: Mutation | null,
  later: (action: () => void) => void,
): Journal =>
  mutation === "journals_late"
    ? {
        ...journal,
        write: (entry) => {
          later(() => void journal.write(entry));
          return ok(undefined);
        },
      }
    : journal;
