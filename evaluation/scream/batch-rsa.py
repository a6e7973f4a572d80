"""Batch RSA (Fiat, 1989; the tree of Boneh and Shacham, 2001) beside single decryptions, both by GMP and with the Chinese remainder
theorem throughout. For a figure only: no padding, no blinding, not in constant time. Prints milliseconds for each decryption as JSON."""

import json
import secrets
import statistics
import time

import gmpy2
from gmpy2 import invert, mpz, powmod

BITS = 2048
EXPONENTS = (3, 5, 7, 11, 13, 17, 19, 23)
SINGLE = 65537
ROUNDS = 60


def prime():
    """A prime whose predecessor has no factor that is an exponent."""
    while True:
        top = 3 << (BITS // 2 - 2)
        p = gmpy2.next_prime(mpz(secrets.randbits(BITS // 2 - 2)) | top)
        if p.bit_length() == BITS // 2 and all(p % e != 1 for e in (*EXPONENTS, SINGLE)):
            return p


class Key:
    def __init__(self):
        self.p, self.q = prime(), prime()
        self.n = self.p * self.q
        self.q_inverse = invert(self.q, self.p)

    def joined(self, of_p, of_q):
        return of_q + self.q * ((of_p - of_q) * self.q_inverse % self.p)

    def root_exponents(self, e):
        return [invert(e, prime - 1) for prime in (self.p, self.q)]


class Tree:
    """What of a batch depends on the exponents only."""

    def __init__(self, exponents):
        self.leaf = len(exponents) == 1
        self.e = mpz(1)
        for exponent in exponents:
            self.e *= exponent
        if self.leaf:
            return
        half = len(exponents) // 2
        self.left, self.right = Tree(exponents[:half]), Tree(exponents[half:])
        # 0 modulo the exponents on the left, 1 modulo those on the right
        self.x = self.left.e * invert(self.left.e, self.right.e)
        self.x_left, self.x_right = self.x // self.left.e, (self.x - 1) // self.right.e

    def up(self, values, prime):
        """Values by node, with that of the root first: to the power of 1 / e, each is the product of the roots below it."""
        if self.leaf:
            return [values[0]]
        half = len(values) // 2
        left, right = self.left.up(values[:half], prime), self.right.up(values[half:], prime)
        value = powmod(left[0], self.right.e, prime) * powmod(right[0], self.left.e, prime) % prime
        return [value, left, right]

    def down(self, root, values, prime):
        if self.leaf:
            return [root]
        _, left, right = values
        known = powmod(left[0], self.x_left, prime) * powmod(right[0], self.x_right, prime) % prime
        power = powmod(root, self.x, prime)
        # one inversion for both: right = power / known, left = root / right = root * known / power
        inverse = invert(known * power % prime, prime)
        of_right = power * power % prime * inverse % prime
        of_left = root * known % prime * known % prime * inverse % prime
        return self.left.down(of_left, left, prime) + self.right.down(of_right, right, prime)


def decrypt_single(key, exponents, ciphertext):
    of_p = powmod(ciphertext % key.p, exponents[0], key.p)
    of_q = powmod(ciphertext % key.q, exponents[1], key.q)
    return key.joined(of_p, of_q)


def decrypt_batch(key, tree, exponents, ciphertexts):
    halves = []
    for prime, exponent in zip((key.p, key.q), exponents):
        values = tree.up([c % prime for c in ciphertexts], prime)
        halves.append(tree.down(powmod(values[0], exponent, prime), values, prime))
    return [key.joined(of_p, of_q) for of_p, of_q in zip(*halves)]


def timed(work):
    start = time.process_time()
    result = work()
    return result, (time.process_time() - start) * 1000


def main():
    key = Key()
    single = key.root_exponents(SINGLE)
    sizes = {size: Tree(EXPONENTS[:size]) for size in (2, 4, 8)}
    roots = {size: key.root_exponents(tree.e) for size, tree in sizes.items()}
    took = {"1": [], **{str(size): [] for size in sizes}}
    for _ in range(ROUNDS):
        message = mpz(secrets.randbelow(int(key.n)))
        ciphertext = powmod(message, SINGLE, key.n)
        found, milliseconds = timed(lambda: decrypt_single(key, single, ciphertext))
        assert found == message
        took["1"].append(milliseconds)
        for size, tree in sizes.items():
            messages = [mpz(secrets.randbelow(int(key.n))) for _ in range(size)]
            ciphertexts = [powmod(m, e, key.n) for m, e in zip(messages, EXPONENTS)]
            found, milliseconds = timed(lambda: decrypt_batch(key, tree, roots[size], ciphertexts))
            assert found == messages
            took[str(size)].append(milliseconds / size)
    print(json.dumps({size: statistics.median(each) for size, each in took.items()}))


main()
