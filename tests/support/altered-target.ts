import type { Target } from '../../node-support/storage/target.ts';

/** A real target of which some operations are done in another way: by a host with its own plans, or while somebody else is at work there. */
export function alteredTarget(inner: Target, changes: Partial<Target>): Target {
  return new Proxy(inner, {
    get: (_, key) => {
      const changed = Reflect.get(changes, key);
      if (changed !== undefined) return changed;
      const value = Reflect.get(inner, key);
      return typeof value === 'function' ? value.bind(inner) : value;
    },
  });
}

/** Somebody does `work` right before the first file is put that `isMoment` names. */
export function interrupted(
  inner: Target,
  work: () => Promise<unknown>,
  isMoment: (path: string) => boolean = () => true,
): Target {
  let waiting: typeof work | undefined = work;
  return alteredTarget(inner, {
    put: async (path, ...rest) => {
      const now = isMoment(path) ? waiting : undefined;
      if (now) waiting = undefined;
      await now?.();
      return inner.put(path, ...rest);
    },
  });
}
