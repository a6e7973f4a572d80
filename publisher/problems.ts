/** What is wrong with a site: all of it is counted, and as much is kept as anybody reads. */

const KEPT = 100;

export class Problems {
  readonly first: string[] = [];
  count = 0;

  add(problem: string): void {
    this.count++;
    if (this.first.length < KEPT) this.first.push(problem);
  }
}
