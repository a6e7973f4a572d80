/** Makes an invitation's secret out of its password: a script of its own, which is loaded only where a password is asked for. */
import { utf8 } from '../../core/encoding/bytes.ts';
import { PASSWORD_COST } from '../../core/keys/key-file.ts';
import { argon2id } from '../../core/primitives/noble-argon2id.ts';
import type { Stretch } from '../open/invitation.ts';

const wisprStretch: Stretch = (password, salt) => argon2id(utf8(password.normalize('NFC')), salt, PASSWORD_COST);
Object.assign(globalThis, { wisprStretch });
