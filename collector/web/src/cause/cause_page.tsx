export function CausePage() { return null; }
