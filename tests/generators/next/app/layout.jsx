export default function Layout({ children }) {
  return (
    <html lang="en" suppressHydrationWarning>
      <head>
        <link rel="stylesheet" href="/site.css" />
        <script src="/site.js" defer />
      </head>
      <body>{children}</body>
    </html>
  );
}
