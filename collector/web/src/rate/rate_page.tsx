export function RatePage() { return null; }
