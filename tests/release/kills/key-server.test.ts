/** Commands of the key server, ended by a real `kill -9` at each step: `npm test` looks at what such a kill leaves. */
import '../../keyserver/kill.test.ts';
