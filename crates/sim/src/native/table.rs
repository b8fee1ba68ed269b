// SPDX-License-Identifier: GPL-2.0-only
//! Which of our functions answers which name of the shim's `FAIRGROUND_CALLS`.

use super::{bpf_timers, helpers, kfuncs};

/// A function of ours, by the name that the object knows it by; `None` if there is none.
pub fn function(name: &str) -> Option<*const ()> {
    // Forms of a kfunc differ by what stands behind `___`; the list has one of each.
    let name = name.split_once("___").map_or(name, |(name, _)| name);
    sched_ext(name).or_else(|| general(name)).or_else(|| of_maps(name))
}

fn sched_ext(name: &str) -> Option<*const ()> {
    Some(match name {
        "scx_bpf_create_dsq" => kfuncs::create_dsq as *const (),
        "scx_bpf_destroy_dsq" => kfuncs::destroy_dsq as *const (),
        "scx_bpf_dsq_nr_queued" => kfuncs::dsq_nr_queued as *const (),
        "scx_bpf_dsq_insert" => kfuncs::dsq_insert as *const (),
        "__scx_bpf_dsq_insert_vtime" => kfuncs::dsq_insert_vtime as *const (),
        "scx_bpf_dsq_move_to_local" => kfuncs::dsq_move_to_local as *const (),
        "scx_bpf_dsq_move_set_slice" => kfuncs::dsq_move_set_slice as *const (),
        "scx_bpf_dsq_move_set_vtime" => kfuncs::dsq_move_set_vtime as *const (),
        "scx_bpf_dsq_move" => kfuncs::dsq_move as *const (),
        "scx_bpf_dsq_move_vtime" => kfuncs::dsq_move_vtime as *const (),
        "scx_bpf_dispatch_nr_slots" => kfuncs::dispatch_nr_slots as *const (),
        "scx_bpf_dispatch_cancel" => kfuncs::dispatch_cancel as *const (),
        "scx_bpf_dsq_reenq" => kfuncs::dsq_reenq as *const (),
        "scx_bpf_dsq_peek" => kfuncs::dsq_peek as *const (),
        "bpf_iter_scx_dsq_new" => kfuncs::iter_dsq_new as *const (),
        "bpf_iter_scx_dsq_next" => kfuncs::iter_dsq_next as *const (),
        "bpf_iter_scx_dsq_destroy" => kfuncs::iter_dsq_destroy as *const (),
        "scx_bpf_select_cpu_dfl" => kfuncs::select_cpu_dfl as *const (),
        "__scx_bpf_select_cpu_and" => kfuncs::select_cpu_and as *const (),
        "scx_bpf_kick_cpu" => kfuncs::kick_cpu as *const (),
        "scx_bpf_cpuperf_cap" => kfuncs::cpuperf_cap as *const (),
        "scx_bpf_cpuperf_cur" => kfuncs::cpuperf_cur as *const (),
        "scx_bpf_cpuperf_set" => kfuncs::cpuperf_set as *const (),
        "scx_bpf_nr_node_ids" => kfuncs::nr_node_ids as *const (),
        "scx_bpf_cpu_node" => kfuncs::cpu_node as *const (),
        "scx_bpf_get_possible_cpumask" => kfuncs::possible_cpumask as *const (),
        // DIVERGES: all CPUs are always online.
        "scx_bpf_get_online_cpumask" => kfuncs::possible_cpumask as *const (),
        "scx_bpf_get_idle_cpumask" => kfuncs::idle_cpumask as *const (),
        "scx_bpf_get_idle_smtmask" => kfuncs::idle_smtmask as *const (),
        "scx_bpf_get_idle_cpumask_node" => kfuncs::idle_cpumask_node as *const (),
        "scx_bpf_get_idle_smtmask_node" => kfuncs::idle_smtmask_node as *const (),
        "scx_bpf_test_and_clear_cpu_idle" => kfuncs::test_and_clear_cpu_idle as *const (),
        "scx_bpf_pick_idle_cpu" => kfuncs::pick_idle_cpu as *const (),
        "scx_bpf_pick_any_cpu" => kfuncs::pick_any_cpu as *const (),
        "scx_bpf_pick_idle_cpu_node" => kfuncs::pick_idle_cpu_node as *const (),
        "scx_bpf_pick_any_cpu_node" => kfuncs::pick_any_cpu_node as *const (),
        "scx_bpf_task_running" => kfuncs::task_running as *const (),
        "scx_bpf_task_cpu" => kfuncs::task_cpu as *const (),
        "scx_bpf_cpu_curr" => kfuncs::cpu_curr as *const (),
        "scx_bpf_now" => kfuncs::now as *const (),
        "scx_bpf_task_set_slice" => kfuncs::task_set_slice as *const (),
        "scx_bpf_task_set_dsq_vtime" => kfuncs::task_set_dsq_vtime as *const (),
        "bpf_cpumask_any_distribute" => kfuncs::cpumask_any_distribute as *const (),
        "bpf_cpumask_any_and_distribute" => kfuncs::cpumask_any_and_distribute as *const (),
        _ => return None,
    })
}

fn general(name: &str) -> Option<*const ()> {
    Some(match name {
        "bpf_ktime_get_ns" => helpers::ktime_get_ns as *const (),
        "bpf_jiffies64" => helpers::jiffies64 as *const (),
        "bpf_get_prandom_u32" => helpers::prandom_u32 as *const (),
        "bpf_get_current_task_btf" => helpers::current_task as *const (),
        "bpf_task_from_pid" => helpers::task_from_pid as *const (),
        "scx_bpf_exit_bstr" => helpers::exit_bstr as *const (),
        "scx_bpf_error_bstr" => helpers::error_bstr as *const (),
        "scx_bpf_dump_bstr" => helpers::dump_bstr as *const (),
        "bpf_trace_vprintk" => helpers::trace_vprintk as *const (),
        "bpf_snprintf" => helpers::snprintf as *const (),
        "bpf_timer_init" => bpf_timers::timer_init as *const (),
        "bpf_timer_set_callback" => bpf_timers::timer_set_callback as *const (),
        "bpf_timer_start" => bpf_timers::timer_start as *const (),
        "bpf_timer_cancel" => bpf_timers::timer_cancel as *const (),
        "fairground_llc_id" => kfuncs::llc_id as *const (),
        "fairground_llc_size" => kfuncs::llc_size as *const (),
        "fairground_allocate" => helpers::allocate as *const (),
        "fairground_free" => helpers::free as *const (),
        "memcpy" => helpers::copy as *const (),
        "memmove" => helpers::copy_within as *const (),
        "memset" => helpers::fill as *const (),
        "memcmp" => helpers::compare as *const (),
        _ => return None,
    })
}

fn of_maps(name: &str) -> Option<*const ()> {
    Some(match name {
        "fairground_map_lookup" => helpers::map_lookup as *const (),
        "fairground_storage_make" => helpers::storage_make as *const (),
        "bpf_task_storage_delete" => helpers::storage_delete as *const (),
        "bpf_map_update_elem" => helpers::map_update as *const (),
        "bpf_map_delete_elem" => helpers::map_delete as *const (),
        "bpf_map_lookup_percpu_elem" => helpers::map_lookup_percpu as *const (),
        "bpf_for_each_map_elem" => helpers::for_each_map_elem as *const (),
        "bpf_map_push_elem" => helpers::map_push as *const (),
        "bpf_map_pop_elem" => helpers::map_pop as *const (),
        "bpf_map_peek_elem" => helpers::map_peek as *const (),
        "bpf_ringbuf_reserve" => helpers::ringbuf_reserve as *const (),
        "bpf_ringbuf_submit" => helpers::ringbuf_submit as *const (),
        "bpf_ringbuf_discard" => helpers::ringbuf_discard as *const (),
        "bpf_ringbuf_output" => helpers::ringbuf_output as *const (),
        "bpf_ringbuf_query" => helpers::ringbuf_query as *const (),
        "bpf_user_ringbuf_drain" => helpers::user_ringbuf_drain as *const (),
        _ => return None,
    })
}
