/** What a service that is installed again is not told any more: whoever changes one thing may have forgotten the others. */

interface Option {
  readonly name: string;
  readonly text: string;
}

/** Given as often as there is something to say: a new one replaces none. */
const REPEATED = ['--connect-to', '--allow-local', '--trust-site', '--dns-server'];

/**
 * Options that were given and are not, neither with this value nor, where there is only one, with another.
 *
 * @param before - program and arguments
 */
export function droppedOptions(before: readonly string[], after: readonly string[]): string[] {
  const now = optionsOf(after);
  const isKept = ({ name, text }: Option) =>
    now.some((option) => option.text === text || (option.name === name && !REPEATED.includes(name)));
  return optionsOf(before)
    .filter((option) => !isKept(option))
    .map(({ text }) => text);
}

function optionsOf(command: readonly string[]): Option[] {
  return command.flatMap((name, index) => {
    if (!name.startsWith('--')) return [];
    const next = command[index + 1];
    return [{ name, text: next === undefined || next.startsWith('--') ? name : `${name} ${next}` }];
  });
}
