import Link from 'next/link';

export const metadata = { title: 'Harbour notes', other: { 'wispr-set': 'public' } };

export default function Page() {
  return (
    <>
      <h1>Harbour notes</h1>
      <Link href="/tide">The great tide</Link>
    </>
  );
}
