-- The figures, one row each. A column that is null does not apply: deploy/RECORD.md says what each field means.
create table louver_release (
  id              text primary key,       -- a copy of a record changes nothing
  stream          text not null,
  "group"         text not null,
  release         text not null,
  window_start    timestamptz not null,
  window_end      timestamptz not null,
  value           numeric,                -- null: withheld
  unit            text not null,
  status          text not null,          -- ok or withheld
  reason          text,                   -- why it was withheld
  incomplete      boolean,                -- part of the window's input was lost
  low             numeric,                -- the band: the exact figure lies between low and high
  high            numeric,
  level           numeric,                -- with this probability, usually 0.95
  basis           text,                   -- what the band follows from
  quality         text,                   -- useful, rough or noise
  users           bigint,
  error_95        numeric,                -- the noise is at most so much, with 95 % confidence
  rank_error_95   numeric,
  p_low           numeric,                -- the value lies between these quantiles, with 95 % confidence
  p_high          numeric,
  epsilon         numeric not null
);
create index on louver_release (stream, "group", release, window_end);
