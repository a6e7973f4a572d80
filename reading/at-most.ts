/** Waits for `work`, whatever comes of it, and no longer than so many milliseconds. @returns whether it is late */
export async function atMost(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, milliseconds, true);
  });
  const ended = work.then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
  }
}
