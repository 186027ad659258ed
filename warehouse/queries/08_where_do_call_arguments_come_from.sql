-- Who brought up the arguments of SGD's service calls before the call, and how many calls find nothing?
-- One row per service and method.
--
-- Columns
--   service, method: service and the intent of it that is called
--   is_transactional: true if the call changes something (books, sends, pays), according to the schema
--   calls: calls of the method
--   empty_calls, empty_percent: calls that returned no entity; their share, one decimal
--   arguments: arguments of these calls
--   user_percent: arguments whose value the user has given for this slot of this service in an earlier turn
--   system_percent: of the others, arguments whose value only the system has given in this way (an accepted offer)
--   carried_percent: of the others, arguments whose value occurred only under another slot or service: carried over
--   unheard_percent: the rest, whose value did not occur before: defaults
--
-- Reads: core.fct_service_calls, core.fct_slots, core.dim_intents
-- Expect: the four percentages, one decimal each, are of all arguments and add up to 100; NULL if there are none.
--   Values are compared in canonical form, so "the 8th" gives 2019-03-08; `dontcare` is a value. A value that fits two
--   slots by chance counts as given.
-- Source: the release documents that a call's parameters are canonical values; these shares are not published.
with

calls as (
    select
        service,
        method,
        count(*) as calls,
        count(*) filter (where result_count = 0) as empty_calls
    from core.fct_service_calls
    group by service, method
),

intents as (
    select
        service,
        intent,
        bool_or(is_transactional) as is_transactional
    from core.dim_intents
    where corpus_id = 'sgd'
    group by service, intent
),

arguments as (
    select
        slots.slot_key,
        slots.dialogue_key,
        slots.turn_index,
        calls.service,
        calls.method,
        slots.slot_name,
        slots.value
    from core.fct_slots as slots
    inner join core.fct_service_calls as calls
        on
            slots.turn_key = calls.turn_key
            and slots.frame_index = calls.frame_index
    where slots.annotation_type = 'call_parameter'
),

origins as (
    select
        arguments.slot_key,
        any_value(arguments.service) as service,
        any_value(arguments.method) as method,
        min(
            case
                when heard.slot_key is null
                    then 4
                when heard.service <> arguments.service or heard.slot_name is distinct from arguments.slot_name
                    then 3
                when heard.role <> 'user'
                    then 2
                else 1
            end
        ) as origin
    from arguments
    left join core.fct_slots as heard
        on
            heard.annotation_type = 'action_value'
            and arguments.dialogue_key = heard.dialogue_key
            and arguments.value = heard.canonical_value
            and arguments.turn_index > heard.turn_index
    group by arguments.slot_key
),

shares as (
    select
        service,
        method,
        count(*) as arguments,
        avg(cast(origin = 1 as integer)) as user_share,
        avg(cast(origin = 2 as integer)) as system_share,
        avg(cast(origin = 3 as integer)) as carried_share,
        avg(cast(origin = 4 as integer)) as unheard_share
    from origins
    group by service, method
)

select
    calls.service,
    calls.method,
    intents.is_transactional,

    calls.calls,
    calls.empty_calls,
    round(100.0 * calls.empty_calls / calls.calls, 1) as empty_percent,

    coalesce(shares.arguments, 0) as arguments,
    round(100 * shares.user_share, 1) as user_percent,
    round(100 * shares.system_share, 1) as system_percent,
    round(100 * shares.carried_share, 1) as carried_percent,
    round(100 * shares.unheard_share, 1) as unheard_percent
from calls
left join intents
    on
        calls.service = intents.service
        and calls.method = intents.intent
left join shares
    on
        calls.service = shares.service
        and calls.method = shares.method
order by calls.service, calls.method
