export const metadata = { title: 'The great tide', other: { 'wispr-set': 'members' } };

export default function Page() {
  return (
    <>
      <h1>The great tide</h1>
      <p data-wispr-excerpt="">The water came in as announced.</p>
      <p>It left by the bathing machine.</p>
    </>
  );
}
