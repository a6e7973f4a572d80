/** Which files a site has, and which of them cannot be published. */
import { compilePattern } from '../site/patterns.ts';
import { type SourceFile, surveySource } from '../site/walk.ts';

export interface SiteSurvey {
  /** In the order of their paths. */
  readonly files: readonly SourceFile[];
  /** Hidden and ignored files. */
  readonly ignored: number;
  /** Patterns of files that are not published, and that no file fits. */
  readonly unusedPatterns: readonly string[];
  /** What `wispr protect` would refuse. */
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * Walks a site directory.
 *
 * @param ignore - patterns of files that are not published
 * @throws PublishError `source-unreadable`
 */
export function surveySite(source: string, ignore: readonly string[]): SiteSurvey {
  const patterns = ignore.map(compilePattern);
  const unused = new Set(patterns);
  const { files, ignored, problems } = surveySource(source, (path) => {
    const pattern = patterns.find((each) => each.match(path));
    if (pattern !== undefined) unused.delete(pattern);
    return pattern !== undefined;
  });
  const refused = problems.map((problem) => {
    const [path = '', reason = ''] = problem.split(/: (.*)/s);
    return { path, reason };
  });
  return { files, ignored, refused, unusedPatterns: [...unused].map(({ text }) => text) };
}
