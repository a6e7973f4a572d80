import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';

/** A real target of which some operations are done differently: by a misbehaving host, or while another program writes there. */
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

/** Does `work` right before the first file is put, or the first listing (`list /`) begun, that `isMoment` names. */
export function interrupted(
  inner: Target,
  work: () => Promise<unknown>,
  isMoment: (what: string) => boolean = () => true,
): Target {
  let waiting: typeof work | undefined = work;
  const begin = async (what: string) => {
    const now = isMoment(what) ? waiting : undefined;
    if (now) waiting = undefined;
    await now?.();
  };
  return alteredTarget(inner, {
    upload: async (path, ...rest) => {
      await begin(path);
      return inner.upload(path, ...rest);
    },
    list: async function* (prefix) {
      await begin(`list ${prefix}`);
      yield* inner.list(prefix);
    },
  });
}

/** A target that nothing can be put to: of this name, or any. */
export const unwritable = (name?: string) => (target: Target) =>
  name === undefined || target.name === name ? alteredTarget(target, { upload: failing(target) }) : target;

/** A target that cannot be reached, by its name. */
export const unreachable = (name: string) => (target: Target) => {
  const fail = failing(target);
  const changes = { get: fail, head: fail, upload: fail, list: () => Promise.reject as never };
  return target.name === name ? alteredTarget(target, changes) : target;
};

const failing = (target: Target) => () =>
  Promise.reject(new StorageError('target-unreachable', `${target.name} does not answer`));
