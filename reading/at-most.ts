/** Waits for `work`, and no longer than so many milliseconds. @returns its result; `undefined` where it is late. @throws what it throws in that time */
export async function atMost<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, milliseconds, undefined);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
