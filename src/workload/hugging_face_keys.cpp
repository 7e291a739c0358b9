#include <algorithm>

#include "workload/hugging_face_types.hpp"

namespace roofcast::hugging_face {

namespace {

/// Keys that change no operator, whatever their value.
constexpr std::string_view harmless =
    // the library and the checkpoint
    " _attn_implementation _name_or_path architectures auto_map dtype library_name license model_name return_dict torch_dtype"
    " torchscript transformers_version unsloth_version use_cache use_bfloat16 is_decoder is_encoder_decoder"
    " gradient_checkpointing output_attentions output_hidden_states problem_type id2label label2id num_labels pruned_heads"
    " use_mamba_kernels num_logits_to_keep chunk_size_feed_forward tie_encoder_decoder add_cross_attention"
    " cross_attention_hidden_size cache_implementation mamba_ssm_dtype mamba_ssm_cache_dtype global_compression_ratio"
    " video_seq_length image_seq_length moe_shared_expert_overlap use_unified_vision_chunk projector_hidden_act"
    " process_image_mode image_grid_pinpoints vision_feature_layer vision_feature_select_strategy vision_segment_max_frames"
    " video_attn_type merge_type init_pos_emb_time language_model_only"
    // of quantization: how scales were found, and which activations are quantized at run time
    " activation_scheme fmt targets group_size dynamic actorder observer observer_kwargs strategy zp_dtype scale_dtype"
    " input_activations quantization_status format weights version zero_point desc_act sym modules_to_not_convert"
    " ignored_layers producer"
    // of parts, where the whole decides; repeats
    " model_type attn_type_list"
    // tokenizers and generation
    " bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id decoder_start_token_id forced_bos_token_id"
    " forced_eos_token_id suppress_tokens begin_suppress_tokens bad_words_ids do_sample early_stopping max_length min_length"
    " num_beams num_beam_groups num_return_sequences length_penalty repetition_penalty temperature top_k top_p typical_p"
    " diversity_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size exponential_decay_length_penalty output_scores"
    " return_dict_in_generate remove_invalid_values prefix tokenizer_class task_specific_params finetuning_task"
    " boi_token_index boi_token_id eoi_token_index eoi_token_id eoa_token_index eoa_token_id boa_token_id boa_token_index"
    " image_token_id image_token_index video_token_id video_token_index audio_token_id vision_start_token_id"
    " vision_end_token_id vision_token_id media_placeholder_token_id image_placeholder video_placeholder ignore_index"
    " sep_index"
    // training
    " attention_dropout attention_probs_dropout_prob classifier_dropout embd_pdrop attn_pdrop resid_pdrop hidden_dropout"
    " hidden_dropout_prob hidden_dropout_rate initializer_range initializer_factor output_router_logits router_aux_loss_coef"
    " router_jitter_noise aux_loss_alpha seq_aux ep_size pretraining_tp rescale_prenorm_residual summary_activation"
    " summary_first_dropout summary_proj_to_labels summary_type summary_use_proj use_return_dict layerdrop time_step_floor"
    " time_step_limit time_step_max time_step_min time_step_rank num_reward_heads index_share_for_mtp_iteration"
    " moe_router_dtype moe_aux_loss_coeff"
    // positions
    " rope_theta rope_scaling rope_parameters rope_interleave rope_interleaved rope_local_base_freq rope_mode rotary_dim"
    " rotary_pct rotary_emb_base partial_rotary_factor original_max_position_embeddings initial_context_length swa_rope_theta"
    " compress_rope_theta indexer_rope_interleave use_mrope position_embedding_type pos_emb_type pos_emb_interpolation_mode"
    " yarn_only_types layer_rope_theta"
    // scalars of norms, scores, routers and logits
    " rms_norm_eps layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_eps hc_eps projector_ln_eps"
    " final_logit_softcapping attn_logit_softcapping query_pre_attn_scalar attention_multiplier residual_multiplier"
    " embedding_multiplier logits_scaling logit_scale attention_value_scale attn_temperature_tuning attn_scale floor_scale"
    " norm_topk_prob norm_expert_weight moe_renormalize moe_router_activation_func scoring_func routed_scaling_factor"
    " moe_router_scaling_factor topk_method topk_group n_group num_expert_group use_grouped_topk use_routing_bias"
    " use_moe_router_bias swiglu_alpha swiglu_limit activation_situ_beta activation_situ_linear_beta gate_lower_bound"
    " residual_in_fp32 use_gemma_norm hc_sinkhorn_iters num_hash_layers sparse_score_type sparse_init_block sparse_local_block"
    " sparse_disable_index_value index_topk_freq index_skip_topk_offset index_topk_pattern qk_head_dim use_sparse_attention"
    " use_bidirectional_attention"
    // windows that are off, and repeats of other keys
    " max_window_layers sliding_window_size expand text_hidden_size out_hidden_size mm_hidden_size"
    " ";

}  // namespace

std::vector<std::string> not_understood(std::vector<std::string> keys) {
    std::erase_if(keys, [](const std::string& key) {
        const std::string last = key.substr(key.rfind('.') + 1);
        return harmless.find(" " + last + " ") != std::string_view::npos;
    });
    return keys;
}

}  // namespace roofcast::hugging_face
