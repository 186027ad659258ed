-- The tables of results. docs/score.md describes them.

-- part: runs
create table if not exists scores.runs (
    run_id varchar not null,
    corpus_id varchar not null,
    split varchar,
    predictions varchar not null,
    predictions_sha256 varchar not null,
    form varchar not null,
    variant varchar,
    across_turn boolean not null,
    without_defects varchar,
    build_id varchar not null,
    code_version varchar not null,
    scored_at timestamp not null
);
comment on table scores.runs is 'One row per set of predictions and options. Key: run_id.';
comment on column scores.runs.run_id
is 'from corpus, split, predictions, options and build: the same run has the same id';
comment on column scores.runs.predictions is 'name of the file or folder';
comment on column scores.runs.predictions_sha256 is 'checksum of names and bytes of the files';
comment on column scores.runs.form is 'form of the files: official or lines';
comment on column scores.runs.variant is 'the one way of comparing texts; NULL: all ways, or there is one only';
comment on column scores.runs.across_turn is 'joint metrics are multiplied in each turn';
comment on column scores.runs.without_defects
is 'turns with known defects that do not count: here, from-then-on, or NULL for none';

-- part: metrics
create table if not exists scores.metrics (
    run_id varchar not null,
    metric varchar not null,
    variant varchar,
    group_name varchar not null,
    value double,
    strict_value double,
    gold_value double,
    low double,
    high double,
    coverage double,
    units bigint not null,
    scored_units bigint not null,
    dialogues bigint not null
);
comment on table scores.metrics is 'One row per run, metric, variant and group. Key: these four.';
comment on column scores.metrics.variant is 'way of comparing texts; NULL where the metric has one only';
comment on column scores.metrics.value is 'the official value: what is not predicted does not count';
comment on column scores.metrics.strict_value is 'what is not predicted counts as wrong';
comment on column scores.metrics.gold_value is 'the official value of the gold annotation';
comment on column scores.metrics.low is 'lower end of the 95 % confidence interval over dialogues';
comment on column scores.metrics.high is 'upper end of the same interval';
comment on column scores.metrics.coverage is 'scored_units / units';
comment on column scores.metrics.units is 'units of gold';
comment on column scores.metrics.scored_units is 'units with a prediction';
comment on column scores.metrics.dialogues is 'dialogues with such a unit';

-- part: units
create table if not exists scores.units (
    run_id varchar not null,
    unit_key varchar not null,
    dialogue_key varchar not null,
    turn_key varchar,
    metric varchar not null,
    variant varchar,
    is_scored boolean not null,
    numerator double,
    denominator double not null
);
comment on table scores.units is 'One row per run, unit, metric and variant. Key: these four.';
comment on column scores.units.unit_key
is 'what is scored: a key of the warehouse, unless docs/score.md says otherwise; `show` opens turn_key';
comment on column scores.units.is_scored is 'there is a prediction';
comment on column scores.units.numerator
is 'a score is the sum of the numerators divided by the sum of the denominators';

-- part: slots
create table if not exists scores.slots (
    run_id varchar not null,
    service varchar,
    slot varchar not null,
    outcome varchar not null,
    times bigint not null,
    example_key varchar not null,
    example_gold varchar,
    example_predicted varchar
);
comment on table scores.slots is 'One row per run, service, slot and outcome. Key: these four.';
comment on column scores.slots.outcome
is 'right, wrong (another value), missed (gold has one), invented (gold has none)';
comment on column scores.slots.example_key is 'the first such place, for `show`';

-- part: comparisons
create table if not exists scores.comparisons (
    run_id varchar not null,
    against varchar not null,
    against_sha256 varchar not null,
    metric varchar not null,
    variant varchar,
    group_name varchar not null,
    value double,
    against_value double,
    difference double,
    p_value double,
    dialogues bigint not null,
    differing_dialogues bigint not null
);
comment on table scores.comparisons
is 'One row per run, other predictions, metric, variant and group, over the units that both predict.';
comment on column scores.comparisons.p_value
is 'paired sign-flip test over dialogues: the chance of such a difference if both were equally good';

-- part: notices
create table if not exists scores.notices (
    run_id varchar not null,
    problem varchar not null,
    times bigint not null,
    example_file varchar,
    example_place varchar
);
comment on table scores.notices
is 'One row per run and kind of thing in the predictions that the official script ignores. Key: both.';
