/** What earlier versions of wispr wrote into `publisher.last`, which knew one target, and withdrawals without places. */
import type { Withdrawal } from '../core/publication/withdrawals.ts';
import {
  currentPlace,
  type KnownPlace,
  type LastPublished,
  NOTHING,
  type Place,
  type PublishedSnapshot,
  placesToWithdraw,
  tidy,
  withBegun,
  withPublished,
  withTelling,
  withWithdrawn,
} from './published-places.ts';

export interface EarlierLast {
  /** Of {@link publication}; `null` also where nothing was published yet. */
  readonly target: Place;
  readonly publication: PublishedSnapshot | undefined;
  /** The last of each place last. */
  readonly begun: readonly (PublishedSnapshot & { readonly target: Place })[];
  readonly withdrawn: readonly number[];
  readonly elsewhere: readonly Withdrawal[];
  /** Of {@link withdrawn}, those of which it was not known that all who are to have them do. */
  readonly unfinished: readonly number[];
}

/** Nothing says whether a key server was told of any of it, nor who was not brought what is unfinished: so all who may have it are to be. */
export function fromEarlier({ target, publication, begun, unfinished, ...more }: EarlierLast): LastPublished {
  const { withdrawn, elsewhere } = more;
  const first = tidy({ ...NOTHING, withdrawn, elsewhere });
  const published = publication ? withPublished(first, target, publication, undefined) : withTarget(first, target);
  const known = begun.reduce((all, { target: at, ...one }) => {
    return { ...withBegun(all, at, one), current: all.current };
  }, published);
  const told = withTelling(known, known.highest);
  return unfinished.reduce((all, version) => {
    const places = placesToWithdraw(all, version);
    const usual = currentPlace(all)?.target;
    const owing = places.length > 0 ? places : [usual ?? null];
    return withWithdrawn(all, version, { places: owing, keyServer: true });
  }, told);
}

/** The first version of wispr that had the file wrote no publication. */
function withTarget(last: LastPublished, target: Place): LastPublished {
  const place: KnownPlace = { target, publication: undefined, begun: [], owed: [] };
  return target === null ? last : { ...last, current: target, places: [place] };
}
