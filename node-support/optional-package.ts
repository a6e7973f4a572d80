import { systemCode } from './system-error.ts';

/**
 * Loads a module that imports packages which an installation may lack: package.json has them as optional.
 *
 * @param load - imports the module
 * @param missing - makes the error for where a package is not installed
 */
export async function loadOptional<Module>(
  load: () => Promise<Module>,
  missing: (cause: unknown) => Error,
): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    throw systemCode(cause) === 'ERR_MODULE_NOT_FOUND' ? missing(cause) : cause;
  }
}
