"""Pure: facts -> fold -> judgement -> text. No clock, chance, file, thread, log or third-party package."""
