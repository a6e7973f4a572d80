const MOST_CAUSES = 5;

/** Finds what logs have of an error: its name, its code, where it happened, and the same of its cause. Messages and fields could quote a query or a body. */
export function loggedError(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, code, stack = '', cause } = error as Error & { code?: unknown };
  const { message } = error;
  const places = stack
    .slice(stack.indexOf(message) + message.length)
    .split('\n')
    .filter((line) => /^ +at /.test(line));
  return {
    type: name,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    stack: places.join('\n'),
    ...(cause !== undefined && depth < MOST_CAUSES && { cause: loggedError(cause, depth + 1) }),
  };
}
