const PIECE = 0x8000; // arguments of one call

/** Encode bytes. */
export function encode(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  }
  return btoa(text);
}

/** Decode; throws where it is not base64. */
export function decode(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
