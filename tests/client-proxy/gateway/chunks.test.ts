/** What rewriting promises of every document, whatever it is and in whatever pieces it comes. */
import { fc } from '@fast-check/vitest';
