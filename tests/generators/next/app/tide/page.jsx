export const metadata = { title: 'The great tide', other: { 'wispr-set': 'members' } };

export default function Page() {
  return (
    <>
      <h1>The great tide</h1>
      <p data-wispr-excerpt="">The water came in as announced.</p>
      <p>The harbour master had drawn the line of the great tide on the wall of the customs house, a hand above the door, and nobody in the town believed that water would ever stand there again. At four in the morning it did. It took the nets from the quay, the coal from the yard of the widow Brandt, and eleven chairs from the terrace of the inn, which were found three days later on the sandbank, set out in a row as if for a concert.</p>
      <p>It left by the bathing machine.</p>
    </>
  );
}
