export interface InviteFlags {
  readonly config?: string;
  readonly sets?: string;
  readonly plan?: string;
  readonly from?: string;
  readonly until?: string;
  readonly for?: string;
  readonly valid?: string;
  readonly seats?: string;
  readonly mail?: boolean;
  readonly link?: boolean;
  readonly password?: boolean;
  readonly remove?: boolean;
  readonly passphraseFile?: string;
  readonly json?: boolean;
}
