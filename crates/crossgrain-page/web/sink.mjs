// Outputs. A file gets its name only when it is complete: `finish` is called after the last tag was verified, and
// `abandon` leaves nothing.

// A file that the user chose. The browser writes to a temporary file in the same folder, which it renames at the end.
export async function chosenFile(handle) {
  const stream = await handle.createWritable();
  return {
    write: (bytes) => stream.write(bytes),
    finish: () => stream.close(),
    async abandon() {
      await stream.abort().catch(() => {});
      await removeEmpty(handle);
    },
  };
}

// The dialog for a file creates it empty. A file that was not written goes again.
export async function removeEmpty(handle) {
  await handle.remove?.().catch(() => {});
}

// A file in the storage of this page, which the page offers as a download when it is complete.
export async function storedFile(name) {
  const folder = await navigator.storage.getDirectory();
  const handle = await folder.getFileHandle(name, { create: true });
  const access = await handle.createSyncAccessHandle();
  let at = 0;
  return {
    write(bytes) {
      while (bytes.length > 0) {
        const count = access.write(bytes, { at });
        if (count === 0) throw new DOMException("no space", "QuotaExceededError");
        at += count;
        bytes = bytes.subarray(count);
      }
    },
    finish() {
      access.flush();
      access.close();
    },
    async abandon() {
      access.close();
      await folder.removeEntry(name).catch(() => {});
    },
  };
}
